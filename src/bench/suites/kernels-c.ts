/**
 * @file The suite's kernels as a C programmer would write them for speed: the baseline of the native target.
 *
 * Fast shapes: `restrict`, polynomials instead of libm, several accumulators, whole vectors of columns in registers.
 * The compiler may contract a * b + c here (its default), which the lockstep target may not. Every function takes
 * one block of doubles with addresses, lengths and scalars: the way in which compiled kernels are called too, so
 * that a call costs the same on both sides.
 */
import type { CSource } from "./c-library.ts";

const SOURCE = `
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define WIDTH 16
#elif defined(__AVX__)
#define WIDTH 8
#else
#define WIDTH 4
#endif
typedef float floats __attribute__((vector_size(WIDTH * 4), aligned(4)));
#define VECTOR(p) (*(floats *)(p))
/* One address as a double, the cheapest call that koffi makes; b is the block behind it. */
#define ENTRY(name) int32_t name(double at)
#define BLOCK const double *b = (const double *)(intptr_t)at
#define FLOATS(k) ((float *)(intptr_t)b[k])
#define BYTES(k) ((uint8_t *)(intptr_t)b[k])

ENTRY(nothing) { BLOCK; return b[0] < 0; }

static void saxpy_(const float *restrict x, float *restrict y, float a, int n) {
  for (int i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}
ENTRY(saxpy) { BLOCK; saxpy_(FLOATS(0), FLOATS(1), b[2], b[3]); return 0; }

static float sum_(float *restrict x, int n) {
  floats partial[8] = {{0}};
  int i = 0;
  for (; i + 8 * WIDTH <= n; i += 8 * WIDTH) {
    for (int k = 0; k < 8; k++) partial[k] += VECTOR(x + i + k * WIDTH);
  }
  for (int k = 1; k < 8; k++) partial[0] += partial[k];
  float total = 0;
  for (int k = 0; k < WIDTH; k++) total += partial[0][k];
  for (; i < n; i++) total += x[i];
  return total;
}
ENTRY(sum) { BLOCK; FLOATS(1)[0] = sum_(FLOATS(0), b[2]); return 0; }

static inline float from_bits(int32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
static inline int32_t to_bits(float x) { int32_t bits; memcpy(&bits, &x, 4); return bits; }

static inline float exp_(float x) {
  x = x > 88.0f ? 88.0f : x;
  x = x < -87.0f ? -87.0f : x;
  float shifted = x * 1.44269504f + 12582912.0f;
  float n = shifted - 12582912.0f;
  float r = x - n * 0.693359375f;
  r = r + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  return p * from_bits((to_bits(shifted) << 23) + 0x3f800000);
}
static void exp_map_(const float *restrict x, float *restrict y, int n) {
  for (int i = 0; i < n; i++) y[i] = exp_(x[i]);
}
ENTRY(exp_map) { BLOCK; exp_map_(FLOATS(0), FLOATS(1), b[2]); return 0; }

static void polynomial_(const float *restrict x, float *restrict y, int n) {
  for (int i = 0; i < n; i++) {
    float v = x[i];
    float p = 0.125f;
    p = p * v - 0.25f;
    p = p * v + 0.375f;
    p = p * v - 0.5f;
    p = p * v + 0.625f;
    p = p * v - 0.75f;
    p = p * v + 0.875f;
    p = p * v - 1.0f;
    p = p * v + 1.125f;
    y[i] = p;
  }
}
ENTRY(polynomial) { BLOCK; polynomial_(FLOATS(0), FLOATS(1), b[2]); return 0; }

/* One row of environments at a time, from the last to the first: every row is a plain vector loop. */
static void gae_row(const float *restrict rewards, const float *restrict values, const float *restrict next,
                    const float *restrict chain, const uint8_t *restrict ended, float *restrict out, float gamma,
                    float both, int envs) {
  for (int e = 0; e < envs; e++) {
    float tail = gamma * next[e] + both * chain[e];
    out[e] = (rewards[e] - values[e]) + (ended[e] ? 0.0f : tail);
  }
}
ENTRY(gae) {
  BLOCK;
  const float *rewards = FLOATS(0), *values = FLOATS(1), *next = FLOATS(3);
  const uint8_t *ended = BYTES(2);
  float *out = FLOATS(4), gamma = b[5], both = gamma * (float)b[6];
  int envs = b[7], steps = b[8];
  float nothing[envs];
  memset(nothing, 0, sizeof nothing);
  const float *chain = nothing;
  for (int t = steps - 1; t >= 0; t--) {
    int at = t * envs;
    gae_row(rewards + at, values + at, next, chain, ended + at, out + at, gamma, both, envs);
    next = values + at;
    chain = out + at;
  }
  return 0;
}

static void cartpole_(float *restrict x, float *restrict x_dot, float *restrict theta, float *restrict theta_dot,
                      const uint8_t *restrict action, uint8_t *restrict ended, float *restrict reward, int n) {
  for (int i = 0; i < n; i++) {
    float force = action[i] ? 10.0f : -10.0f;
    float t = theta[i], td = theta_dot[i], p = x[i], pd = x_dot[i];
    float shifted = t * 0.636619772f + 12582912.0f;
    float q = shifted - 12582912.0f;
    int32_t quadrant = to_bits(shifted);
    float r = t - q * 1.5707855225f;
    r = r - q * 1.0804334124e-5f;
    float r2 = r * r;
    float s = -1.9515295891e-4f;
    s = s * r2 + 8.3321608736e-3f;
    s = s * r2 - 1.6666654611e-1f;
    s = s * r2 * r + r;
    float c = 2.4433157118e-5f;
    c = c * r2 - 1.3887316255e-3f;
    c = c * r2 + 4.1666645683e-2f;
    c = c * r2 * r2 - 0.5f * r2 + 1.0f;
    float sine = quadrant & 1 ? c : s, cosine = quadrant & 1 ? s : c;
    sine = quadrant & 2 ? -sine : sine;
    cosine = (quadrant + 1) & 2 ? -cosine : cosine;
    float temp = (force + 0.05f * td * td * sine) * (1.0f / 1.1f);
    float angular = (9.8f * sine - cosine * temp) / (0.5f * (4.0f / 3.0f - 0.1f * cosine * cosine * (1.0f / 1.1f)));
    float linear = temp - 0.05f * angular * cosine * (1.0f / 1.1f);
    p += 0.02f * pd;
    pd += 0.02f * linear;
    t += 0.02f * td;
    td += 0.02f * angular;
    int done = (p < -2.4f) | (p > 2.4f) | (t < -0.20943951f) | (t > 0.20943951f);
    x[i] = done ? 0.01f : p;
    x_dot[i] = done ? -0.02f : pd;
    theta[i] = done ? 0.03f : t;
    theta_dot[i] = done ? -0.04f : td;
    ended[i] = done;
    reward[i] = 1.0f;
  }
}
ENTRY(cartpole) {
  BLOCK;
  cartpole_(FLOATS(0), FLOATS(1), FLOATS(2), FLOATS(3), BYTES(4), BYTES(5), FLOATS(6), b[7]);
  return 0;
}
`;

export const C_BASELINES: CSource = {
  source: SOURCE,
  symbols: ["nothing", "saxpy", "sum", "exp_map", "polynomial", "gae", "cartpole"],
  flags: ["-O3", "-march=native", "-fno-trapping-math"],
};
