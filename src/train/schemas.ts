/**
 * @file Forms that several files of a run have in common, as they are checked when they are read.
 */
import * as z from "zod";

export const count = z.int().min(0);
/** A number as JSON holds it: what is not finite is null there, and comes back as NaN. */
export const jsonFigure = z.union([z.number(), z.null().transform(() => Number.NaN)]);

/** The result of an evaluation, with numbers of the given form. */
export const evaluationOf = <F extends z.ZodType<number>>(figure: F) =>
  z.object({
    episodes: count,
    mean: figure,
    std: figure,
    min: figure,
    max: figure,
    iqm: figure,
    ci: z.tuple([figure, figure]),
    mean_length: figure,
  });
