/**
 * @file Statements as C, for one function of the IR.
 *
 * Loops count in 64 bits, so that the counter serves as an address and never wraps; `exit` is a goto to the end of
 * what it leaves.
 */
import { assertIr } from "../../ir/build.ts";
import type {
  Assign,
  Buffer,
  Call,
  Fault,
  For,
  Func,
  If,
  Label,
  Launch,
  Local,
  Pack,
  Stmt,
  Store,
} from "../../ir/nodes.ts";
import { STORAGE_BYTES } from "../../ir/types.ts";
import { stmtBodies } from "../../ir/walk.ts";
import { Expressions, isContiguous } from "./emitExpr.ts";
import { NativeBuildError } from "./errors.ts";
import { type Facts, factsOf } from "./facts.ts";
import { argumentsOf, type Linkage } from "./linkage.ts";
import { loadPart, packHelper, storePart } from "./memory.ts";
import { Names } from "./names.ts";
import { anyHelper, cType, HELD, maskElement, type Prelude, selectHelper } from "./prelude.ts";
import { type RareWay, rareWay } from "./rare.ts";
import { Shapes } from "./shapes.ts";

/** Bytes of local arrays in one function; calls from JavaScript run on a stack of 1 MiB or more. */
const LARGEST_FRAME = 512 * 1024;

/**
 * Places in which a loaded vector may stand before it is held in a register: gcc takes memory for as good as a register,
 * and loads it again in each of them. Processors load one or two vectors in the time of two multiplications.
 */
const LOADED_USES = 3;

export interface FunctionContext {
  readonly prelude: Prelude;
  readonly linkage: Linkage;
  readonly names: Names;
  readonly vectorBytes: number;
}

export class FunctionWriter {
  readonly #func: Func;
  readonly #context: FunctionContext;
  readonly #names: Names;
  readonly #shapes: Shapes;
  readonly #facts: Facts;
  readonly #expressions: Expressions;
  #lines: string[] = [];
  #declarations: string[] = [];
  /** Functions that rare ways have become. */
  readonly #apart: string[] = [];
  readonly #locals = new Map<Local, readonly string[]>();
  readonly #counters = new Map<Local, string>();
  readonly #buffers = new Map<Buffer, string>();
  readonly #lengths = new Map<Buffer, string>();
  readonly #labels = new Map<Label, string>();
  /** Where vector loops end and scalar ones go on. */
  readonly #vectorEnds = new Set<Local>();
  #depth = 1;

  constructor(func: Func, context: FunctionContext) {
    this.#func = func;
    this.#context = context;
    this.#names = new Names(context.names);
    this.#shapes = new Shapes(func, context.vectorBytes);
    this.#facts = factsOf(func);
    this.#expressions = new Expressions({
      prelude: context.prelude,
      shapes: this.#shapes,
      names: this.#names,
      line: (text) => this.#line(text),
      local: (l) => this.#local(l),
      counter: (l) => this.#counters.get(l),
      buffer: (b) => this.#buffer(b),
      length: (b) => this.#length(b),
    });
  }

  /** The whole function as C. */
  text(): string {
    const { linkage } = this.#context;
    const parameters: string[] = ["int *restrict fault"];
    if (linkage.launches(this.#func)) parameters.push("const struct context *context");
    const sharing = linkage.sharing(this.#func);
    for (const b of linkage.parameters(this.#func)) {
      parameters.push(`${cType(b.storage)} *${sharing.has(b) ? "" : "restrict "}${this.#buffer(b)}`);
      if (b.length === undefined) parameters.push(`int ${this.#length(b)}`);
    }
    for (const p of this.#func.params) parameters.push(`${cType(HELD[p.dtype])} ${this.#declare(p)[0]}`);
    this.#localBuffers();
    this.#body(this.#func.body);
    const body = [...this.#declarations.map((d) => `  ${d}`), ...this.#lines].join("\n");
    // Whole programs inlined into one function would take minutes to compile; a loop outweighs its call.
    const attribute = linkage.hasLoops(this.#func) ? "__attribute__((noinline)) " : "";
    const whole = `static ${attribute}void ${linkage.nameOf(this.#func)}(${parameters.join(", ")}) {\n${body}\n}`;
    return [...this.#apart, whole].join("\n");
  }

  #localBuffers(): void {
    let bytes = 0;
    const handed = new Set(this.#context.linkage.parameters(this.#func));
    for (const b of this.#facts.buffers) {
      if (b.space !== "local" || handed.has(b)) continue;
      const size = Math.max(1, (b.length ?? 0) * b.lanes);
      bytes += size * STORAGE_BYTES[b.storage];
      this.#declarations.push(`${cType(b.storage)} ${this.#buffer(b)}[${size}] __attribute__((aligned(64)));`);
    }
    if (bytes > LARGEST_FRAME)
      throw new NativeBuildError(
        `the local arrays of ${this.#func.name} take ${Math.ceil(bytes / 1024)} KiB, more than ${LARGEST_FRAME / 1024}: ` +
          "hand over an array instead",
        "",
      );
  }

  #line(text: string): void {
    this.#lines.push("  ".repeat(this.#depth) + text);
  }
  #nested(write: () => void): void {
    this.#depth++;
    write();
    this.#depth--;
  }

  #buffer(b: Buffer): string {
    if (b.space === "table") return this.#context.linkage.table(b);
    let name = this.#buffers.get(b);
    if (name === undefined) {
      name = this.#names.fresh(b.name);
      this.#buffers.set(b, name);
    }
    return name;
  }
  #length(b: Buffer): string {
    if (b.length !== undefined) return `${b.length}`;
    let name = this.#lengths.get(b);
    if (name === undefined) {
      name = this.#names.fresh(`${b.name}_length`);
      this.#lengths.set(b, name);
    }
    return name;
  }

  /** Names for a local's parts. */
  #declare(l: Local): readonly string[] {
    const parts = l.lanes === 1 ? 1 : this.#shapes.parts(l.lanes);
    const names = Array.from({ length: parts }, (_, k) => this.#names.fresh(parts === 1 ? l.name : `${l.name}_${k}`));
    this.#locals.set(l, names);
    return names;
  }
  #local(l: Local): readonly string[] {
    const found = this.#locals.get(l);
    if (found) return found;
    const names = this.#declare(l);
    // Nothing reads a local before it has a value; the zero keeps that true where only the passes can see it.
    if (!this.#facts.isConfined(l))
      this.#declarations.push(...names.map((n) => `${this.#localType(l)} ${n} = ${l.lanes === 1 ? "0" : "{0}"};`));
    return names;
  }
  #localType(l: Local): string {
    if (l.lanes === 1) return cType(HELD[l.dtype]);
    const element = l.dtype === "bool" ? maskElement(this.#shapes.localMask(l)) : HELD[l.dtype];
    return this.#context.prelude.type(element, this.#shapes.partLanes(l.lanes));
  }

  #body(body: readonly Stmt[]): void {
    for (const s of body) this.#stmt(s);
  }

  #stmt(s: Stmt): void {
    switch (s.kind) {
      case "assign":
        return this.#assign(s);
      case "store":
        return this.#store(s);
      case "pack":
        return this.#pack(s);
      case "if":
        return this.#if(s);
      case "for":
        return this.#for(s);
      case "loop":
        this.#line("for (;;) {");
        this.#nested(() => this.#body(s.body));
        this.#line("}");
        return this.#landing(s.label, s.body);
      case "block":
        this.#line("{");
        this.#nested(() => this.#body(s.body));
        this.#line("}");
        return this.#landing(s.label, s.body);
      case "exit":
        return this.#line(`goto ${this.#label(s.label)};`);
      case "fault":
        return this.#fault(s);
      case "recur":
        return assertIr(false, () => `a recurrence of ${s.local.name} is left`);
      case "call":
        return this.#call(s);
      case "launch":
        return this.#launch(s);
      default:
        s satisfies never;
    }
  }

  #assign(s: Assign): void {
    const value =
      s.local.dtype === "bool" && s.local.lanes > 1
        ? this.#expressions.mask(s.value, this.#shapes.localMask(s.local))
        : this.#expressions.value(s.value);
    const isKept = s.value.kind === "load" && s.value.lanes > 1 && this.#facts.uses(s.local) > LOADED_USES;
    const isConfined = this.#facts.isConfined(s.local);
    const prefix = isConfined ? `${isKept ? "" : "const "}${this.#localType(s.local)} ` : "";
    this.#local(s.local).forEach((name, k) => {
      this.#line(`${prefix}${name} = ${value[k]};${isKept ? ` KEEP(${name});` : ""}`);
    });
  }

  #if(s: If): void {
    const condition = this.#expressions.scalar(s.condition);
    // "Does any lane need this" guards rare ways: keep them out of the loop's line of code.
    this.#line(s.condition.kind === "any" ? `if (__builtin_expect(${condition}, 0)) {` : `if (${condition}) {`);
    const rare = rareWay(s, this.#facts, (l) => this.#counters.has(l));
    this.#nested(() => (rare ? this.#setApart(s.then, rare) : this.#body(s.then)));
    if (s.else.length) {
      this.#line("} else {");
      this.#nested(() => this.#body(s.else));
    }
    this.#line("}");
  }

  /** Writes statements as a function of their own, and its call. */
  #setApart(body: readonly Stmt[], { shared, changed }: RareWay): void {
    const name = this.#names.fresh(`${this.#context.linkage.nameOf(this.#func)}_rare`);
    const values = this.#names.fresh("shared");
    const parts = (l: Local): { type: string; id: string }[] =>
      this.#local(l).map((id) => ({ type: this.#localType(l), id }));
    const [all, altered] = [shared.flatMap(parts), changed.flatMap(parts)];
    const outer = { lines: this.#lines, declarations: this.#declarations, depth: this.#depth };
    [this.#lines, this.#declarations, this.#depth] = [[], [], 1];
    this.#body(body);
    const own = [...this.#declarations.map((d) => `  ${d}`), ...this.#lines];
    [this.#lines, this.#declarations, this.#depth] = [outer.lines, outer.declarations, outer.depth];
    this.#apart.push(
      `struct ${name} { ${all.map(({ type, id }) => `${type} ${id};`).join(" ")} };`,
      `static __attribute__((noinline)) void ${name}(struct ${name} *${values}) {`,
      ...all.map(({ type, id }) => `  ${type} ${id} = ${values}->${id};`),
      ...own,
      ...altered.map(({ id }) => `  ${values}->${id} = ${id};`),
      "}",
    );
    this.#line(`struct ${name} ${values} = {${all.map(({ id }) => id).join(", ")}};`);
    this.#line(`${name}(&${values});`);
    for (const { id } of altered) this.#line(`${id} = ${values}.${id};`);
  }

  #for(s: For): void {
    assertIr(
      s.reductions.length === 0 && s.axis !== "partial" && s.axis !== "scan",
      () => `loop ${s.index.name} still carries reductions`,
    );
    const index = this.#local(s.index)[0] as string;
    const counter = this.#names.fresh(`${s.index.name}_at`);
    const end = this.#names.fresh(`${s.index.name}_end`);
    const [begin, limit] = [this.#expressions.scalar(s.begin), this.#expressions.scalar(s.end)];
    const step =
      s.step > 0 ? `${counter} < ${end}; ${counter} += ${s.step}` : `${counter} > ${end}; ${counter} -= ${-s.step}`;
    this.#line(`for (long long ${counter} = ${begin}, ${end} = ${limit}; ${step}) {`);
    this.#counters.set(s.index, counter);
    const rest = s.axis === "serial" && s.begin.kind === "get" && this.#vectorEnds.has(s.begin.local);
    if (s.axis === "vector" && s.end.kind === "get") this.#vectorEnds.add(s.end.local);
    this.#nested(() => {
      // Keeps compilers from making vectors of the few iterations that a vector loop leaves, and of checked copies.
      if (rest || s.body.some((inner) => inner.kind === "fault")) this.#line('__asm__ volatile("");');
      this.#line(`${this.#facts.isConfined(s.index) ? "const int " : ""}${index} = (int)${counter};`);
      this.#body(s.body);
    });
    this.#counters.delete(s.index);
    this.#line("}");
    this.#landing(s.label, s.body);
  }

  #label(l: Label): string {
    let name = this.#labels.get(l);
    if (name === undefined) {
      name = this.#names.fresh(`after_${l.name}`);
      this.#labels.set(l, name);
    }
    return name;
  }
  /** The place that an exit jumps to, when there is one. The name is given up, as copies of a loop share labels. */
  #landing(l: Label, body: readonly Stmt[]): void {
    if (leaves(body, l)) this.#line(`${this.#label(l)}:;`);
    this.#labels.delete(l);
  }

  #fault(s: Fault): void {
    this.#line(`if (__builtin_expect(${this.#expressions.condition(s.condition)}, 0) && !*fault) *fault = ${s.site};`);
  }

  #store(s: Store): void {
    if (s.value.lanes === 1) return this.#storeScalar(s);
    const value = this.#expressions.value(s.value);
    const type = this.#expressions.typeOf(s.value);
    if (isContiguous(s)) {
      const at = this.#expressions.contiguous(s.buffer, s.index, s.value.lanes);
      return this.#storeContiguous(s, value, at);
    }
    const bound = value.map((x) => this.#expressions.bind("x", type, x));
    const mask = s.mask && this.#boundMask(s.mask);
    const n = this.#shapes.partLanes(s.value.lanes);
    const targets = this.#expressions.laneAddresses(s, s.value.lanes);
    if (s.mask && mask)
      this.#line(`if (${anyHelper(this.#context.prelude, this.#shapes.maskBytes(s.mask), n)}(${mask.join(" | ")})) {`);
    targets.forEach((target, l) => {
      const [part, lane] = [Math.floor(l / n), l % n];
      const guard = mask ? `  if (${mask[part]}[${lane}]) ` : "";
      this.#line(`${guard}${target} = ${this.#element(s, `${bound[part]}[${lane}]`)};`);
    });
    if (mask) this.#line("}");
  }

  #pack(s: Pack): void {
    const { prelude } = this.#context;
    const n = this.#shapes.partLanes(s.value.lanes);
    const masks = this.#expressions.mask(s.mask, 4);
    let to = `${this.#buffer(s.buffer)} + ${this.#expressions.subscript(s.index)}`;
    const counts = this.#expressions.value(s.value).map((x, k) => {
      const pack = packHelper(prelude, s.buffer, n);
      const count = this.#expressions.bind("packed", "int", `${pack}(${to}, ${x}, ${masks[k]})`);
      to = `${to} + ${count}`;
      return count;
    });
    const prefix = this.#facts.isConfined(s.found) ? "const int " : "";
    this.#line(`${prefix}${this.#local(s.found)[0]} = ${counts.join(" + ")};`);
  }

  #element(s: Store, text: string): string {
    return s.buffer.storage === "u8" ? `(unsigned char)${text}` : text;
  }

  #boundMask(mask: NonNullable<Store["mask"]>): readonly string[] {
    const type = this.#expressions.typeOf(mask);
    return this.#expressions.value(mask).map((m) => this.#expressions.bind("m", type, m));
  }

  #storeScalar(s: Store): void {
    const guard = s.mask ? `if (${this.#expressions.scalar(s.mask)}) ` : "";
    const target = `${this.#buffer(s.buffer)}[${this.#expressions.subscript(s.index)}]`;
    this.#line(`${guard}${target} = ${this.#element(s, this.#expressions.scalar(s.value))};`);
  }

  /**
   * A mask on neighbouring elements is applied by storing what was there to the others: passes mask such a store only
   * where these elements exist and belong to the iterations of this very vector.
   */
  #storeContiguous(s: Store, value: readonly string[], at: readonly string[]): void {
    const { prelude } = this.#context;
    const n = this.#shapes.partLanes(s.value.lanes);
    const masks = s.mask && this.#expressions.mask(s.mask, s.buffer.storage === "f64" ? 8 : 4);
    const element = HELD[s.value.dtype];
    value.forEach((x, k) => {
      const address = at[k] as string;
      const kept = (m: string): string =>
        `${selectHelper(prelude, element, n)}(${m}, ${x}, ${loadPart(prelude, s.buffer, n, address)})`;
      this.#line(storePart(prelude, s.buffer, n, address, masks ? kept(masks[k] as string) : x));
    });
  }

  #call(s: Call): void {
    const { linkage } = this.#context;
    const given = new Map(s.func.buffers.map((b, k) => [b, s.buffers[k] as Buffer]));
    const text = this.#argumentTexts(s.func, (b) => given.get(b) ?? b);
    const args = s.args.map((a) => this.#expressions.scalar(a));
    this.#line(`${linkage.nameOf(s.func)}(${[...text, ...args].join(", ")});`);
  }

  /** The leading arguments of a function: fault word, context, buffers and lengths. */
  #argumentTexts(f: Func, actual: (b: Buffer) => Buffer): string[] {
    return argumentsOf(this.#context.linkage, f, {
      fault: "fault",
      context: "context",
      buffer: (b) => this.#buffer(actual(b)),
      length: (b) => this.#length(actual(b)),
    });
  }

  /** In pieces on several threads when there is enough to do, as a plain call otherwise. */
  #launch(s: Launch): void {
    const { linkage } = this.#context;
    const name = linkage.nameOf(s.func);
    const buffers = this.#argumentTexts(s.func, (b) => b);
    const args = s.args.map((a) => this.#expressions.scalar(a));
    const count = this.#expressions.bind("count", "int", this.#expressions.scalar(s.count));
    const serial = `${name}(${[...buffers, ...args, "0", count].join(", ")});`;
    if (!s.threaded) {
      this.#line(`if (${count} > 0) ${serial}`);
      return;
    }
    const grain = linkage.grain(s);
    this.#line(`if (context->threads > 1 && ${count} >= ${2 * grain}) {`);
    this.#nested(() => {
      this.#line(`struct ${name}_frame frame = {${[...buffers, ...args].join(", ")}};`);
      const work = `(long long)(${linkage.nanoseconds(s).toExponential(2)} * ${count})`;
      this.#line(`context->launch(${name}_piece, &frame, ${count}, context->threads, ${grain}, ${work});`);
    });
    this.#line(`} else if (${count} > 0) ${serial}`);
  }
}

function leaves(body: readonly Stmt[], l: Label): boolean {
  return body.some((s) => (s.kind === "exit" ? s.label === l : stmtBodies(s).some((inner) => leaves(inner, l))));
}
