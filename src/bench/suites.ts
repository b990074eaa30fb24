/**
 * @file All suites by name.
 */
import type { Suite } from "./suite.ts";
import { buffersSuite } from "./suites/buffers.ts";
import { envsSuite } from "./suites/envs.ts";
import { gaeSuite } from "./suites/gae.ts";
import { kernelsSuite } from "./suites/kernels.ts";
import { llmSuite } from "./suites/llm.ts";
import { nnSuite } from "./suites/nn.ts";
import { optimisationsSuite } from "./suites/optimisations.ts";
import { rolloutSuite } from "./suites/rollout.ts";
import { trainSuite } from "./suites/train.ts";

export const SUITES: readonly Suite[] = [
  buffersSuite,
  envsSuite,
  gaeSuite,
  kernelsSuite,
  llmSuite,
  nnSuite,
  optimisationsSuite,
  rolloutSuite,
  trainSuite,
];
