/**
 * @file Reads the header of a safetensors file: JSON of objects, strings, whole numbers and lists of them.
 *
 * JSON.parse keeps the last of two equal keys and says nothing; here that is a fault, as is everything a header has no
 * use for. Objects are maps, so that no key means anything to JavaScript.
 */
export type HeaderValue = string | number | readonly HeaderValue[] | ReadonlyMap<string, HeaderValue>;

/** Says where and why a header is not one. */
export class HeaderFault extends Error {}

const DEEPEST = 8;
const SPACES = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const WHOLE = /(?:0|[1-9][0-9]*)(?![0-9.eE])/y;

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }
  whole(): HeaderValue {
    const value = this.#value(0);
    this.#spaces();
    if (this.#at !== this.#text.length) this.#fail("there is something behind the header's end");
    return value;
  }
  #fail(reason: string): never {
    throw new HeaderFault(`${reason} (at character ${this.#at})`);
  }
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
  #spaces(): void {
    this.#match(SPACES);
  }
  /** Goes past a character if it is the next one. */
  #take(character: string): boolean {
    this.#spaces();
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }
  #need(character: string): void {
    if (!this.#take(character)) this.#fail(`"${character}" is missing`);
  }

  #value(depth: number): HeaderValue {
    if (depth > DEEPEST) this.#fail("it is nested too deeply");
    if (this.#take("{")) return this.#object(depth);
    if (this.#take("[")) return this.#list(depth);
    const whole = this.#match(WHOLE);
    if (whole !== undefined) {
      const value = Number(whole);
      if (!Number.isSafeInteger(value)) this.#fail(`${whole} is too large`);
      return value;
    }
    return this.#string();
  }
  #string(): string {
    this.#spaces();
    const found = this.#match(STRING);
    if (found === undefined) this.#fail("a string, a whole number, a list or an object is missing");
    return JSON.parse(found) as string;
  }
  #list(depth: number): readonly HeaderValue[] {
    const values: HeaderValue[] = [];
    if (this.#take("]")) return values;
    do values.push(this.#value(depth + 1));
    while (this.#take(","));
    this.#need("]");
    return values;
  }
  #object(depth: number): ReadonlyMap<string, HeaderValue> {
    const entries = new Map<string, HeaderValue>();
    if (this.#take("}")) return entries;
    do {
      const key = this.#string();
      if (entries.has(key)) this.#fail(`"${key}" is there twice`);
      this.#need(":");
      entries.set(key, this.#value(depth + 1));
    } while (this.#take(","));
    this.#need("}");
    return entries;
  }
}

export const readHeaderText = (text: string): HeaderValue => new Reader(text).whole();
