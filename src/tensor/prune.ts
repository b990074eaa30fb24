/**
 * @file Leaves out what a recording does for nothing: loops, and parts of them, that write to temporary states only which
 * nothing reads. A `fold` whose result is not used is one, and what a gradient made it keep when that is not used either.
 *
 * Values that nothing needs are never computed anyway. States of the user, outputs and kernels always count.
 */
import { type Block, type Effect, inputsOf, type Node, type Stored } from "./nodes.ts";
import { rootsOf } from "./reach.ts";

/** All assignments, outputs and calls of a block, those in loops too. */
const plainEffects = (block: Block): Effect[] =>
  block.effects.flatMap((effect) => (effect.kind === "repeat" ? plainEffects(effect.body) : [effect]));

/** The temporary states whose values are needed, directly or for what is assigned to others of them. */
function neededStates(root: Block): ReadonlySet<Stored> {
  const needed = new Set<Stored>();
  const seen = new Set<Node>();
  const effects = plainEffects(root);
  const need = (node: Node): void => {
    if (seen.has(node)) return;
    seen.add(node);
    if (node.kind === "read" && node.state.temporary && !needed.has(node.state)) {
      needed.add(node.state);
      for (const effect of effects)
        if (effect.kind === "assign" && effect.state === node.state) rootsOf(effect).forEach(need);
    }
    inputsOf(node).forEach(need);
  };
  for (const effect of effects) if (effect.kind !== "assign" || !effect.state.temporary) rootsOf(effect).forEach(need);
  return needed;
}

/** Takes effects without consequence out of a block, and loops that are empty then. */
function thin(block: Block, needed: ReadonlySet<Stored>): void {
  const kept = block.effects.filter((effect) => {
    if (effect.kind === "repeat") {
      thin(effect.body, needed);
      return effect.body.effects.length > 0;
    }
    return effect.kind !== "assign" || !effect.state.temporary || needed.has(effect.state);
  });
  block.effects.splice(0, block.effects.length, ...kept);
}

export const pruneBlock = (root: Block): void => thin(root, neededStates(root));
