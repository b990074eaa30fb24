import { describe, expect, it } from "vitest";
import { BLOCK, Heap, HeapError } from "../../src/runtime/heap.ts";

describe("the heap", () => {
  it("hands out aligned, zeroed, separate blocks, and reuses freed ones of the same size", () => {
    const heap = new Heap();
    const a = heap.array("f32", 100);
    const b = heap.array("f64", 10);
    expect(a.byteOffset % BLOCK).toBe(0);
    expect(b.byteOffset).toBeGreaterThanOrEqual(a.byteOffset + a.byteLength);
    a.fill(7);
    const { byteOffset } = a;
    heap.release(byteOffset);
    const c = heap.array("f32", 100);
    expect(c.byteOffset).toBe(byteOffset);
    expect(c.every((v) => v === 0)).toBe(true);
  });

  it("keeps old arrays valid when it grows", () => {
    const heap = new Heap(new WebAssembly.Memory({ initial: 2, maximum: 64, shared: true }));
    const early = heap.array("i32", 4);
    early.set([1, 2, 3, 4]);
    const late = heap.array("u8", 1_000_000);
    expect(heap.buffer.byteLength).toBeGreaterThan(1_000_000);
    expect([...early]).toEqual([1, 2, 3, 4]);
    early[0] = 9;
    expect(new Int32Array(heap.buffer, early.byteOffset, 1)[0]).toBe(9);
    expect(heap.owns(early.buffer)).toBe(true);
    expect(heap.owns(late.buffer)).toBe(true);
    expect(heap.owns(new ArrayBuffer(8))).toBe(false);
  });

  it("refuses what does not fit, bad lengths and double frees, and stays usable", () => {
    const heap = new Heap(new WebAssembly.Memory({ initial: 2, maximum: 4, shared: true }));
    expect(() => heap.array("f32", 1_000_000)).toThrow(HeapError);
    expect(() => heap.array("f32", -1)).toThrow(/whole number/);
    expect(() => heap.array("f32", 1.5)).toThrow(HeapError);
    const a = heap.array("f32", 4);
    heap.release(a.byteOffset);
    expect(() => heap.release(a.byteOffset)).toThrow(/freed before/);
    expect(heap.array("f32", 4).length).toBe(4);
  });

  it("is one heap for all that attach to its memory", () => {
    const first = new Heap();
    const second = new Heap(first.memory);
    const offsets = new Set<number>();
    for (let k = 0; k < 50; k++) offsets.add((k % 2 ? first : second).allocate(64));
    expect(offsets.size).toBe(50);
    expect(() => new Heap(strange())).toThrow(/not a lockstep heap/);
  });
});

function strange(): WebAssembly.Memory {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true });
  new Int32Array(memory.buffer)[0] = 5;
  return memory;
}
