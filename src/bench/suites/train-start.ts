/**
 * @file A process for the suite `train`: one iteration from nothing, and a line that says what it did. Its arguments are
 * a target and a number of threads.
 */
import { parseTarget } from "../../runtime/targets.ts";
import { countsOf, makeTraining, SMALL } from "./train-cases.ts";

const [, , target, threads] = process.argv;
const algorithm = makeTraining(SMALL, { target: parseTarget(target, "the first argument"), threads: Number(threads) });
algorithm.iterate();
// Threads of the target may be waiting for more: the process ends when its line is out.
process.stdout.write(`${JSON.stringify(countsOf(algorithm, 1))}\n`, () => process.exit(0));
