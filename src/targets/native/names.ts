/**
 * @file C identifiers: from the names that the IR carries as hints to ones that are legal and distinct.
 */
const RESERVED = new Set(
  (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register " +
    "restrict return short signed sizeof static struct switch typedef typeof union unsigned void volatile while asm " +
    "fault context arena block frame linux unix main INLINE LANES KEEP KEEP_INT CLEAR_UPPER " +
    // What compilers call on their own: a function of that name would be called instead.
    "memcpy memset memmove memcmp fmod fmodf sqrt sqrtf floor floorf ceil ceilf trunc truncf rint rintf fma fmaf"
  ).split(" "),
);
/** Shapes of the helpers' and types' own names. */
const HELPER = /(^|_)(f32|f64|i32|u32|u8|i64|u64)(x\d+)?(_at)?$|_x\d+$|_word$|_words$/;

export class Names {
  readonly #used = new Set<string>();
  /** Where to go on counting for each name. */
  readonly #next = new Map<string, number>();
  readonly #outer: Names | undefined;
  /** Names of an inner scope stay clear of those in `outer`. */
  constructor(outer?: Names) {
    this.#outer = outer;
  }

  isTaken(name: string): boolean {
    return this.#used.has(name) || this.#outer?.isTaken(name) === true;
  }

  /** A fresh identifier that resembles the hint. */
  fresh(hint: string): string {
    const base = legal(hint);
    let k = this.#next.get(base) ?? 0;
    let name = k === 0 ? base : `${base}_${k}`;
    while (this.isTaken(name)) name = `${base}_${++k}`;
    this.#next.set(base, k + 1);
    this.#used.add(name);
    return name;
  }
}

const made = new Map<string, string>();

/** The nearest C identifier that means nothing else. */
function legal(hint: string): string {
  let name = made.get(hint);
  if (name === undefined) {
    name = hint.replace(/[^A-Za-z0-9_]/g, "_").replace(/^(?![A-Za-z])/, "v");
    if (RESERVED.has(name) || HELPER.test(name) || name.startsWith("__")) name += "_v";
    made.set(hint, name);
  }
  return name;
}
