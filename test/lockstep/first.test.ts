import { testHalf } from "./differential.ts";

testHalf(0);
