import { add, Builder, buffer, constant, func, get, i32, lengthOf, load, mul } from "../src/ir/build.ts";
import { heap } from "../src/runtime/heap.ts";
import { Program } from "../src/runtime/program.ts";
import { availability } from "../src/runtime/targets.ts";
const x = buffer("x","f32","param"), y = buffer("y","f32","param");
const b = () => new Builder();
const mods: any = {};
{ const q=b(); q.for("i",{begin:i32(0),end:lengthOf(x),axis:"parallel"},(i)=>q.store(y,i,add(mul(constant("f32",1.5),load(x,i)),load(y,i)))); mods.saxpy={name:"saxpy",entry:func("saxpy",[x,y],[],q.statements),sites:[]}; }
{ const q=b(); const t=q.local("t","f32"); q.assign(t,constant("f32",0)); q.for("i",{begin:i32(0),end:lengthOf(x),axis:"parallel",reductions:[{local:t,op:"add"}]},(i)=>q.assign(t,add(get(t),load(x,i)))); q.store(y,i32(0),get(t)); mods.sum={name:"sum",entry:func("sum",[x,y],[],q.statements),sites:[]}; }
{ const q=b(); q.for("i",{begin:i32(0),end:lengthOf(x),axis:"parallel"},(i)=>{ let r=constant("f32",0.1) as any; const v=q.let("v",load(x,i)); for(let k=0;k<8;k++) r=q.let("r",add(mul(r,v),constant("f32",0.3+k))); q.store(y,i,r)}); mods.poly={name:"poly",entry:func("poly",[x,y],[],q.statements),sites:[]}; }
const n=Number(process.argv[2]??4096);
const X=heap().array("f32",n), Y=heap().array("f32",n);
for(let i=0;i<n;i++){X[i]=Math.sin(i);}
for (const [name,m] of Object.entries(mods)) for (const t of ["js","wasm","native"] as const) {
  const a=availability(t); if(!a.target){console.log(t,(a as any).reason);continue}
  const p=new Program(m as any,a.target,{threads:1,unchecked:false}); const run=p.bind({x:X,y:Y});
  let best=1e9; for(let r=0;r<30;r++){const N=Math.ceil(2e6/n); const s=performance.now(); for(let k=0;k<N;k++)run(); best=Math.min(best,(performance.now()-s)/N);} 
  console.log(name.padEnd(6),t.padEnd(7),(best*1e6/n).toFixed(4),"ns/elem", (best*1e6).toFixed(0),"ns/call");
  if(process.argv[3]===name&&process.argv[4]===t) console.log(p.show(process.argv[5] as any ?? "code"));
}
process.exit(0)
