/**
 * @file The nodes of the IR: typed, immutable expressions and structured statements.
 *
 * A Module is one compilation unit: functions over flat buffers and scalar parameters. Expressions are pure
 * trees; what is used twice goes through a Local. Locals are mutable and function-wide, which keeps front ends and
 * passes simple; targets (a C compiler, V8) build their own SSA form. Control is structured: `if`, counted `for`,
 * endless `loop`, `block`, and `exit` out of any enclosing one of the last three.
 *
 * Every expression has `lanes`: 1 for a scalar; the vectoriser makes wider ones, whose lanes compute side by side.
 * There is no pointer arithmetic and no alias: a buffer is reached by its name and an element index.
 */
import type { AxisKind, BinaryOp, DType, ReduceOp, StorageType, UnaryOp } from "./types.ts";

/**
 * A named, flat memory region.
 * - `param`: handed over by the caller. `temp`: planned in the Program's arena, undefined at entry.
 * - `state`: in the arena, kept between calls. `local`: private to one iteration or call, on the stack, undefined
 *   until stored (front ends write the zeros that JavaScript's arrays start with).
 * - `table`: read-only constants.
 */
export interface Buffer {
  readonly kind: "buffer";
  readonly name: string;
  readonly storage: StorageType;
  readonly space: "param" | "temp" | "state" | "local" | "table";
  /** Elements, where known when compiling; always for all spaces but `param`. */
  readonly length: number | undefined;
  /** The contents of a `table`. */
  readonly data?: readonly number[];
  /** Local buffers in vector code hold this many interleaved copies: element i of lane l is at i * lanes + l. */
  readonly lanes: number;
}

/** A mutable variable of a function, compared by identity; `name` is a hint. */
export interface Local {
  readonly kind: "local";
  readonly name: string;
  readonly dtype: DType;
  readonly lanes: number;
}

interface ExprBase {
  readonly dtype: DType;
  readonly lanes: number;
}
export interface Const extends ExprBase {
  readonly kind: "const";
  /** Already rounded to dtype: i32 in [-2^31, 2^31), u32 in [0, 2^32), bool 0 or 1. */
  readonly value: number;
}
export interface Get extends ExprBase {
  readonly kind: "get";
  readonly local: Local;
}
/** The number of elements of a buffer (per lane for local ones), an i32. */
export interface Length extends ExprBase {
  readonly kind: "length";
  readonly buffer: Buffer;
}
export interface Unary extends ExprBase {
  readonly kind: "unary";
  readonly op: UnaryOp;
  readonly x: Expr;
}
export interface Binary extends ExprBase {
  readonly kind: "binary";
  readonly op: BinaryOp;
  readonly a: Expr;
  readonly b: Expr;
}
/** Both arms may be evaluated; `condition` is a bool with as many lanes as the arms. */
export interface Select extends ExprBase {
  readonly kind: "select";
  readonly condition: Expr;
  readonly a: Expr;
  readonly b: Expr;
}
/** a * b + c with one rounding; f32 only, exact on every target. */
export interface Fma extends ExprBase {
  readonly kind: "fma";
  readonly a: Expr;
  readonly b: Expr;
  readonly c: Expr;
}
export interface Convert extends ExprBase {
  readonly kind: "convert";
  readonly x: Expr;
}
/**
 * `buffer[index]`, in range (the bounds pass sees to it). With lanes > 1: `stride` undefined means a gather,
 * `index` having as many lanes; otherwise `index` is a scalar and lane l reads `index + l * stride`
 * (1: contiguous). For local buffers with lanes the index counts elements and each lane reads its own copy.
 */
export interface Load extends ExprBase {
  readonly kind: "load";
  readonly buffer: Buffer;
  readonly index: Expr;
  readonly stride: Expr | undefined;
}
/** A scalar copied to all lanes. */
export interface Splat extends ExprBase {
  readonly kind: "splat";
  readonly x: Expr;
}
/** 0, 1, 2, ... lanes - 1 as i32. */
export interface Iota extends ExprBase {
  readonly kind: "iota";
}
/** Whether any lane of a bool vector is true, as a scalar bool. */
export interface AnyLane extends ExprBase {
  readonly kind: "any";
  readonly x: Expr;
}
/** Lanes of two vectors in another order: lane l is lane `order[l]` of a, or, from a's number of lanes on, one of b. */
export interface Shuffle extends ExprBase {
  readonly kind: "shuffle";
  readonly a: Expr;
  readonly b: Expr;
  readonly order: readonly number[];
}
/** One lane of a vector, as a scalar. */
export interface Lane extends ExprBase {
  readonly kind: "lane";
  readonly x: Expr;
  readonly at: number;
}
export type Expr =
  | Const
  | Get
  | Length
  | Unary
  | Binary
  | Select
  | Fma
  | Convert
  | Load
  | Splat
  | Iota
  | AnyLane
  | Shuffle
  | Lane;

/** What `exit` leaves: identity of an enclosing `for`, `loop` or `block`. */
export interface Label {
  readonly kind: "label";
  readonly name: string;
}

export interface Assign {
  readonly kind: "assign";
  readonly local: Local;
  readonly value: Expr;
}
/** `local = term + factor * local`, at the top of a scan loop's body: the value that goes on to the next iteration. */
export interface Recur {
  readonly kind: "recur";
  readonly local: Local;
  readonly factor: Expr;
  readonly term: Expr;
}
/** `buffer[index] = value`: as in Load; where `mask` is given (a bool of the same lanes) only its true lanes store. */
export interface Store {
  readonly kind: "store";
  readonly buffer: Buffer;
  readonly index: Expr;
  readonly value: Expr;
  readonly stride: Expr | undefined;
  readonly mask: Expr | undefined;
}
/**
 * Lists lanes: each lane in turn stores its value at `buffer[index + k]`, where k counts the earlier lanes of which
 * `mask` is true, so that a value stays only where its lane is true, or the last. `found` becomes the number of true
 * lanes. From `index` on there is room for all lanes.
 */
export interface Pack {
  readonly kind: "pack";
  readonly buffer: Buffer;
  readonly index: Expr;
  readonly value: Expr;
  readonly mask: Expr;
  readonly found: Local;
}
export interface If {
  readonly kind: "if";
  readonly condition: Expr;
  readonly then: readonly Stmt[];
  readonly else: readonly Stmt[];
}
/** In a `parallel` loop: `local` is combined over all iterations with `op`; the body only does `local = local op x`. */
export interface Reduction {
  readonly local: Local;
  readonly op: ReduceOp;
}
/**
 * Counted loop: `begin` and `end` are read once; step > 0 runs while i < end, step < 0 while i > end.
 * The body does not assign `index`.
 */
export interface For {
  readonly kind: "for";
  readonly label: Label;
  readonly axis: AxisKind;
  readonly index: Local;
  readonly begin: Expr;
  readonly end: Expr;
  readonly step: number;
  readonly body: readonly Stmt[];
  readonly reductions: readonly Reduction[];
}
export interface Loop {
  readonly kind: "loop";
  readonly label: Label;
  readonly body: readonly Stmt[];
}
export interface Block {
  readonly kind: "block";
  readonly label: Label;
  readonly body: readonly Stmt[];
}
export interface Exit {
  readonly kind: "exit";
  readonly label: Label;
}
/** Records fault number `site` (1, 2, ...; see Module.sites) when the condition holds (in any lane); execution goes on. */
export interface Fault {
  readonly kind: "fault";
  readonly condition: Expr;
  readonly site: number;
}
/** Calls another function of the module. Buffers map to its `buffers`, args to its `params`, by position. */
export interface Call {
  readonly kind: "call";
  readonly func: Func;
  readonly buffers: readonly Buffer[];
  readonly args: readonly Expr[];
}
/**
 * Runs `func` over all of 0..count-1 in pieces, perhaps on several threads: the outlined body of a parallel loop.
 * Its last two params are the piece's begin and end; the others take `args`. It sees the caller's buffers under
 * the same Buffer identities. `cost` estimates one iteration's operations; `threaded` allows several threads.
 */
export interface Launch {
  readonly kind: "launch";
  readonly func: Func;
  readonly args: readonly Expr[];
  readonly count: Expr;
  readonly cost: number;
  readonly threaded: boolean;
}
export type Stmt = Assign | Recur | Store | Pack | If | For | Loop | Block | Exit | Fault | Call | Launch;

export interface Func {
  readonly kind: "func";
  readonly name: string;
  /** Buffers handed over by the caller (space `param`), then whatever else the body uses is found by walking it. */
  readonly buffers: readonly Buffer[];
  /** Scalar parameters, locals preset by the caller. */
  readonly params: readonly Local[];
  readonly body: readonly Stmt[];
}

/** A place that can fault: what the user is told. */
export interface Site {
  readonly reason: "bounds" | "assert";
  readonly message: string;
  /** Where in the user's source, when the front end knows: "line:column  text of the line". */
  readonly place: string | undefined;
}

export interface Module {
  readonly name: string;
  readonly entry: Func;
  /** sites[k - 1] describes fault number k. */
  readonly sites: readonly Site[];
}
