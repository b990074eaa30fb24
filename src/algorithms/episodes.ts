/**
 * @file Statistics of the episodes that end in an iteration, summed up inside the program.
 */
import { type State, state, type Tensor, where } from "../tensor/index.ts";
import type { World } from "./world.ts";

export class EpisodeStatistics {
  readonly #world: World;
  readonly #count: State;
  readonly #returns: State;
  readonly #lengths: State;
  readonly #least: State;
  readonly #most: State;

  constructor(world: World) {
    const each = (name: string): State => state("f32", [world.n], { name: `episodes.${name}` });
    this.#world = world;
    this.#count = each("count");
    this.#returns = each("returns");
    this.#lengths = each("lengths");
    this.#least = each("least");
    this.#most = each("most");
  }

  begin(): void {
    for (const sums of [this.#count, this.#returns, this.#lengths]) sums.assign(0);
    this.#least.assign(Number.POSITIVE_INFINITY);
    this.#most.assign(Number.NEGATIVE_INFINITY);
  }
  /** After a step: `over` says whose episode has ended in it. */
  observe(over: Tensor): void {
    const last = this.#world.episodeReturn.value;
    const length = this.#world.episodeLength.value.to("f32");
    const take = (into: State, changed: Tensor): void => into.assign(where(over, changed, into.value));
    take(this.#count, this.#count.value.add(1));
    take(this.#returns, this.#returns.value.add(last));
    take(this.#lengths, this.#lengths.value.add(length));
    take(this.#least, this.#least.value.minimum(last));
    take(this.#most, this.#most.value.maximum(last));
  }
  /** Of all environments together; means and limits of no episodes are NaN. */
  metrics(): { readonly [name: string]: Tensor } {
    const episodes = this.#count.value.sum();
    const some = (x: Tensor): Tensor => where(episodes.gt(0), x, Number.NaN);
    return {
      episodes,
      episode_return: some(this.#returns.value.sum().div(episodes)),
      episode_return_min: some(this.#least.value.min()),
      episode_return_max: some(this.#most.value.max()),
      episode_length: some(this.#lengths.value.sum().div(episodes)),
    };
  }
}
