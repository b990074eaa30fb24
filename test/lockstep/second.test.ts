import { testHalf } from "./differential.ts";

testHalf(1);
