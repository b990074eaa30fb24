/**
 * @file Chooses the lane width of bool variables in vector code: that of what is assigned to them.
 *
 * A comparison of doubles makes a mask of 64-bit lanes; kept that way it selects doubles without a conversion. Where
 * different widths meet in one variable, 32 bits are taken.
 */
import type { Expr, Func, Local } from "../../ir/nodes.ts";
import { eachStmt } from "../../ir/walk.ts";
import type { Width } from "./lanes.ts";

const joined = (a: Width | undefined, b: Width | undefined): Width | undefined =>
  a === undefined ? b : b === undefined || a === b ? a : 4;

/** The width a bool expression has by itself; undefined for constants, which take any. */
function naturalWidth(e: Expr, widths: ReadonlyMap<Local, Width>): Width | undefined {
  switch (e.kind) {
    case "const":
      return undefined;
    case "get":
      return widths.get(e.local) ?? 4;
    case "unary":
      return naturalWidth(e.x, widths);
    case "binary":
      if (e.a.dtype !== "bool") return e.a.dtype === "f64" ? 8 : 4;
      return joined(naturalWidth(e.a, widths), naturalWidth(e.b, widths));
    case "select":
      return naturalWidth(e.condition, widths);
    default:
      return 4;
  }
}

export function maskWidths(func: Func): Map<Local, Width> {
  const widths = new Map<Local, Width>();
  const assigned: { local: Local; value: Expr }[] = [];
  eachStmt(func.body, (s) => {
    if (s.kind !== "assign" || s.local.dtype !== "bool" || s.local.lanes === 1) return;
    assigned.push(s);
    widths.set(s.local, 8);
  });
  for (let changed = true; changed; ) {
    changed = false;
    for (const { local, value } of assigned) {
      if (widths.get(local) === 4 || naturalWidth(value, widths) !== 4) continue;
      widths.set(local, 4);
      changed = true;
    }
  }
  return widths;
}
