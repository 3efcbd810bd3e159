/* lf/runtime.h - the whole interface between an emitted training program and liblf_runtime.
 *
 * Idea: the compiler has decided everything (offsets, shapes, order of issue, groups); the program below states it as
 * tables and straight-line calls, and the runtime carries it out on a device (cpu or cuda) and a transport (local, mpi,
 * nccl). Invariant: nothing is allocated, and no group is made, after lf_main has called the first step.
 *
 * Conventions: every call names the rank first and, second, what it is for ("input_norm"; used by traces and messages).
 * Arrays are dense and row-major; ids, labels and positions are int32; counts are elements unless a name says bytes.
 * Inputs come before outputs, shapes and constants after them. Every array of floating-point numbers has one of two
 * types: `real`, the compute type of the program (lf_program::dtype), or `main`, which is float when real is bfloat16 and
 * real otherwise. Activations, their gradients and the parameters that kernels read are real; gradients of parameters,
 * master weights, moments, and the statistics of attention and loss are main. Arguments are real unless a comment says
 * main, or the call has an lf_dtype, which is then their type.
 * Outputs never overlap inputs unless a comment allows it. Failures do not return: the rank prints call, rank and cause
 * and the whole job stops with an exit code of docs/errors.md.
 */
#ifndef LF_RUNTIME_H
#define LF_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What a program states about itself ------------------------------------------------------------------------ */

enum { LF_MAX_DIMS = 6, LF_MAX_AXES = 12, LF_MAX_DEPTHS = 16 };

typedef struct lf_rank lf_rank; /* one rank: device, arenas, communicators, trace */

typedef enum { LF_F32 = 0, LF_F64 = 1, LF_BF16 = 2 } lf_dtype;
typedef enum { LF_SUM = 0, LF_MAX = 1 } lf_reduction;
typedef enum { LF_SILU = 0, LF_GELU = 1, LF_GELU_TANH = 2, LF_RELU = 3 } lf_activation_kind;

/* Mesh axes, major to minor: rank = mixed-radix number of its coordinates. A set of axes is a bit mask over this list
 * (bit i = axes[i]); a group is the ranks that differ only in the set, ordered by the same mixed radix. */
typedef uint32_t lf_axes;
typedef struct {
  const char *name;
  int32_t size;
} lf_axis;

typedef struct {
  const char *name; /* "tp", "dp+cp", "world" */
  lf_axes axes;     /* several axes form one product group */
} lf_comm;

typedef enum { LF_INIT_ZEROS = 0, LF_INIT_ONES = 1, LF_INIT_NORMAL = 2 } lf_init;

/* One parameter of one layer kind (or outside the layers). The 2-D view has rows = product of the first `row_dims`
 * dims and cols = product of the rest; the Hugging Face tensor is that view ([rows, cols], or [cols, rows] when
 * hf_transposed), of which this parameter is the columns [hf_col, hf_col + cols) out of hf_cols (fused tensors such as
 * GPT-2's c_attn). row_dims = 0: a 1-D tensor. Padding (shape > valid) is never stored in files, and stays zero. */
typedef struct {
  const char *name;           /* "q"; shown as "layers.3.q" */
  const char *hf_name;        /* "model.layers.%d.self_attn.q_proj.weight"; %d is the layer */
  int32_t ndim;
  int64_t shape[LF_MAX_DIMS]; /* logical, whole, padded */
  int64_t valid[LF_MAX_DIMS]; /* logical, whole, without padding */
  lf_axes split[LF_MAX_DIMS]; /* axes that split each dim */
  int32_t row_dims;
  int32_t hf_transposed;
  int64_t hf_col, hf_cols;
  int32_t decay;              /* weight decay applies */
  lf_init init;
  double init_std;
  int64_t hf_row, hf_rows; /* rows [hf_row, hf_row + rows) out of hf_rows; hf_rows = 0: all */
  int32_t optional;        /* --load: a folder without it is accepted, and it is initialised with a notice */
} lf_param;

/* Where a parameter lives on the ranks of one pipeline rank: layer l (first <= l < first + count; count is 1 and first
 * is -1 outside the layers) has its local shard at element offset + (l - first) * stride of each of the arenas
 * parameters, master weights, gradients, and both moments. */
typedef struct {
  int32_t param; /* index into lf_program::params */
  int32_t pp;
  int32_t first, count;
  int64_t offset, stride;
  int32_t copy;  /* 1: a second copy of a tied parameter; not counted in norms, not saved */
} lf_place;

/* A run of the gradient arena whose parameters share everything that the step does with them. */
typedef struct {
  int32_t pp;
  int64_t offset, count;
  int32_t comm;  /* group over which the gradient is still partial, -1: none */
  lf_axes owned; /* axes that split it: the square sum counts on ranks whose index on every other axis is 0 */
  int32_t decay;
  int32_t copy;  /* as in lf_place */
} lf_region;

/* Messages of one step from pipeline rank `from` to pipeline rank `to` with one tag: of at most `count` elements. */
typedef struct {
  int32_t from, to, tag;
  int64_t count;
  lf_dtype type;
} lf_message;

/* Bytes of one pipeline rank, by category, as planned. `optimizer` is both moments and, in a bfloat16 program, the master
 * weights; else the parameters are their own. */
typedef struct {
  int64_t parameters, gradients, optimizer, saved, workspace;
  int64_t staging; /* on a GPU, what the rank takes beside its arenas (lf/scratch.h); 0 on the cpu */
  int64_t driver;  /* there, about what the driver and NCCL take (lf/driver_memory.h); 0 on the cpu */
} lf_memory;

typedef struct lf_program {
  const char *name;       /* model and plan in a line */
  const char *config;     /* the model's config.json, for --save-hf */
  const char *plan;       /* plan.json */
  const char *report;     /* what --describe prints */
  lf_dtype dtype;         /* compute type */
  const lf_axis *axes;
  int32_t num_axes;
  lf_axes pp, dp, cp, tp; /* the strategies' axes as masks */
  const lf_comm *comms;
  int32_t num_comms;
  int32_t world_comm;     /* index of the group of all ranks */
  const lf_param *params;
  int32_t num_params;
  const lf_place *places;
  int32_t num_places;
  const lf_region *regions;
  int32_t num_regions;
  const lf_memory *memory; /* one for each pipeline rank */
  int64_t seq_length;      /* whole sequence */
  int64_t micro_batch;     /* samples of one rank and micro-batch */
  int64_t micro_batches;   /* a step, of one rank */
  int64_t vocab;           /* without padding: ids must be below */
  int64_t layers;
  double flops_per_token;  /* forward and backward, whole model, without recomputation */
  void (*step)(lf_rank *); /* one training step of this rank */
  int32_t mtp_depths;      /* depths of multi-token prediction, at most LF_MAX_DEPTHS */
  int32_t deterministic;   /* two runs give the same bits; on the cpu they always do */
  const lf_message *messages; /* every (from, to, tag) of a step, once; all are connected before the first step */
  int32_t num_messages;
} lf_program;

/* Entry point of the emitted main(): parses the command line (docs/running.md), starts or joins the ranks, trains.
 * Returns the exit code. */
int lf_main(int argc, char **argv, const lf_program *program);

/* ---- Rank, memory, order ------------------------------------------------------------------------------------------ */

/* LF_MASTER: the weights that the optimizer updates, of which LF_PARAMETERS is a rounded copy in a bfloat16 program and
 * the same array in others. */
typedef enum {
  LF_PARAMETERS = 0,
  LF_GRADIENTS,
  LF_MOMENT1,
  LF_MOMENT2,
  LF_SAVED,
  LF_WORKSPACE,
  LF_MASTER
} lf_arena_kind;

int32_t lf_coordinate(lf_rank *, lf_axes);    /* index of this rank in its group over these axes, axes major to minor */
void *lf_arena(lf_rank *, lf_arena_kind);     /* base of an arena, 64-byte aligned */
void lf_enter(lf_rank *, const char *function, int32_t layer, int32_t micro_batch); /* names what follows, in traces */

/* Streams: 0 is compute; the others belong to communicators (stream 1 + comm). Work of one stream runs in order;
 * lf_wait makes a stream wait for what another had issued when lf_record was called. */
typedef int32_t lf_event;
lf_event lf_record(lf_rank *, int32_t stream);
void lf_wait(lf_rank *, int32_t stream, lf_event);

/* ---- One training step (called by lf_program::step) --------------------------------------------------------------- */

void lf_begin_step(lf_rank *); /* zeroes gradients and the step's sums */
/* Fills [S/cp, B] ids and labels (labels < 0 are ignored by the loss) and [S] positions (whole); NULL: not wanted here.
 * Sample of column b: micro_batch * (B * DP) + dp * B + b of the step. */
void lf_load_batch(lf_rank *, int32_t micro_batch, int32_t *ids, int32_t *labels, int32_t *positions);
/* As lf_load_batch, but both shifted left by `shift` tokens within each sample; the last `shift` ids are 0 and the last
 * `shift` labels -1. */
void lf_load_shifted(lf_rank *, int32_t micro_batch, int32_t shift, int32_t *ids, int32_t *labels);
/* Adds one micro-batch's loss sum and token count (each one main on the device). Ranks that repeat another's loss pass
 * counted = 0. */
void lf_add_loss(lf_rank *, const void *loss_sum, const void *count, int32_t counted);
/* The same for depth `depth` of multi-token prediction, which `loss` does not contain. */
void lf_add_depth_loss(lf_rank *, int32_t depth, const void *loss_sum, const void *count, int32_t counted);
/* After the regions are synchronised: one sum over all ranks of [loss, count, square sum]; sets loss, norm, clip. */
void lf_finish_gradients(lf_rank *);
/* AdamW over one run of the arenas with the step's rate, clip and 1/count. */
void lf_adamw(lf_rank *, const char *what, int64_t offset, int64_t count, int32_t decay);
void lf_end_step(lf_rank *);

/* ---- Collectives (twins: ncclAllGather ..., MPI_Iallgather ...). `count` is elements of the smaller side ------------ */

void lf_all_gather(lf_rank *, const char *what, const void *x, void *y, int64_t count, lf_dtype, int32_t comm,
                   int32_t stream);
void lf_reduce_scatter(lf_rank *, const char *what, const void *x, void *y, int64_t count, lf_dtype, lf_reduction,
                       int32_t comm, int32_t stream);
void lf_all_reduce(lf_rank *, const char *what, const void *x, void *y, int64_t count, lf_dtype, lf_reduction,
                   int32_t comm, int32_t stream); /* y may be x */
void lf_all_to_all(lf_rank *, const char *what, const void *x, void *y, int64_t count, lf_dtype, int32_t comm,
                   int32_t stream);
/* To and from the rank that differs from this one only in the pipeline coordinate. Messages of one pair and tag arrive in
 * order; lf_send returns when x may be reused. */
void lf_send(lf_rank *, const char *what, const void *x, int64_t count, lf_dtype, int32_t pp, int32_t tag);
void lf_recv(lf_rank *, const char *what, void *y, int64_t count, lf_dtype, int32_t pp, int32_t tag);
/* The same in two parts (MPI_Irecv, MPI_Wait): lf_post_recv says where the message goes and returns at once;
 * lf_wait_recv, with the same arguments, returns when what is issued from then on sees it there. Between the two y is
 * neither read nor written. Of one pair and tag, waits come in the order of the posts, one for each, in the same step,
 * and no lf_recv comes between. The pair and tag are in lf_program::messages. */
void lf_post_recv(lf_rank *, const char *what, void *y, int64_t count, lf_dtype, int32_t pp, int32_t tag);
void lf_wait_recv(lf_rank *, const char *what, void *y, int64_t count, lf_dtype, int32_t pp, int32_t tag);

/* ---- Kernels ------------------------------------------------------------------------------------------------------ */

void lf_copy(lf_rank *, const char *what, const void *x, void *y, int64_t count, lf_dtype);
void lf_zero(lf_rank *, const char *what, void *y, int64_t count, lf_dtype);
void lf_accumulate(lf_rank *, const char *what, const void *x, void *y, int64_t count, lf_dtype); /* y += x */
void lf_sum(lf_rank *, const char *what, const void *const *xs, int32_t terms, void *y, int64_t count, lf_dtype);
/* y[o, i] = x[o, index, i] of x[outer, parts, inner] */
void lf_slice(lf_rank *, const char *what, const void *x, void *y, int64_t outer, int64_t parts, int64_t inner,
              int64_t index, lf_dtype);
/* y[b, a, i] = x[a, b, i]: moves the group index of a gathered or scattered dim */
void lf_transpose(lf_rank *, const char *what, const void *x, void *y, int64_t a, int64_t b, int64_t inner,
                  lf_dtype);

/* c[m, n] = op(a) op(b) (+ c when accumulate); a is [m, k], or [k, m] when trans_a; b is [k, n], or [n, k] when
 * trans_b. `of_c` is real, or main for the gradient of a parameter; what accumulates is main. */
void lf_matmul(lf_rank *, const char *what, const void *a, const void *b, void *c, int64_t m, int64_t n, int64_t k,
               int32_t trans_a, int32_t trans_b, int32_t accumulate, lf_dtype of_c);

/* In what follows dw, db and dtable are main, and so is lse. */
void lf_bias_add(lf_rank *, const char *what, const void *x, const void *b, void *y, int64_t rows, int64_t cols);
void lf_bias_grad(lf_rank *, const char *what, const void *dy, void *db, int64_t rows, int64_t cols);
void lf_rms_norm(lf_rank *, const char *what, const void *x, const void *w, void *y, int64_t rows, int64_t cols,
                 double eps);
void lf_rms_norm_grad(lf_rank *, const char *what, const void *x, const void *w, const void *dy, void *dx, void *dw,
                      int64_t rows, int64_t cols, double eps);
void lf_layer_norm(lf_rank *, const char *what, const void *x, const void *w, const void *b, void *y, int64_t rows,
                   int64_t cols, double eps);
void lf_layer_norm_grad(lf_rank *, const char *what, const void *x, const void *w, const void *dy, void *dx, void *dw,
                        void *db, int64_t rows, int64_t cols, double eps);
/* Rotary embedding of x[s, b, heads, d], halves convention (x1 = first d/2 channels); angle = pos[s] * inv_freq[i];
 * cosines and sines are multiplied by scale; inverse != 0: the adjoint. */
void lf_rope(lf_rank *, const char *what, const void *x, const int32_t *pos, void *y, int64_t s, int64_t b,
             int64_t heads, int64_t d, const double *inv_freq, double scale, int32_t inverse);
/* q, o: [s, b, g, r, d]; k, v: [t, b, g, d]; lse: [s, b, g, r], natural logarithm. Key j is visible to query i when
 * pk[j] <= pq[i] and, with window > 0, pq[i] - pk[j] < window. Never holds an s x t array. */
void lf_attention(lf_rank *, const char *what, const void *q, const void *k, const void *v, const int32_t *pq,
                  const int32_t *pk, void *o, void *lse, int64_t s, int64_t t, int64_t b, int64_t g, int64_t r,
                  int64_t d, double scale, int64_t window);
void lf_attention_grad(lf_rank *, const char *what, const void *q, const void *k, const void *v, const int32_t *pq,
                       const int32_t *pk, const void *o, const void *lse, const void *d_o, void *dq, void *dk, void *dv,
                       int64_t s, int64_t t, int64_t b, int64_t g, int64_t r, int64_t d, double scale, int64_t window);
void lf_activation(lf_rank *, const char *what, const void *x, void *y, int64_t count, lf_activation_kind);
void lf_activation_grad(lf_rank *, const char *what, const void *x, const void *dy, void *dx, int64_t count,
                        lf_activation_kind); /* dx may be x */
/* y = act(gate) * up */
void lf_glu(lf_rank *, const char *what, const void *gate, const void *up, void *y, int64_t count, lf_activation_kind);
void lf_glu_grad(lf_rank *, const char *what, const void *gate, const void *up, const void *dy, void *dgate, void *dup,
                 int64_t count, lf_activation_kind); /* dgate may be gate, dup may be up */
/* y[i] = table[ids[i] - offset], or zero when that row is not here; table is [rows, h]. */
void lf_embedding(lf_rank *, const char *what, const int32_t *ids, const void *table, void *y, int64_t tokens,
                  int64_t rows, int64_t h, int64_t offset);
/* dtable is the gradient, or has it added when accumulate. */
void lf_embedding_grad(lf_rank *, const char *what, const int32_t *ids, const void *dy, void *dtable, int64_t tokens,
                       int64_t rows, int64_t h, int64_t offset, int32_t accumulate);
/* y[s, b] = x[s, b] + table[pos[s]] */
void lf_position_embedding(lf_rank *, const char *what, const void *x, const int32_t *pos, const void *table, void *y,
                           int64_t s, int64_t b, int64_t h);
void lf_position_embedding_grad(lf_rank *, const char *what, const int32_t *pos, const void *dy, void *dtable, int64_t s,
                                int64_t b, int64_t h, int64_t rows);
/* x[s, b, h] kept with probability 1 - p and scaled by 1 / (1 - p). The mask depends on (seed, step, layer, site,
 * pos[s], sample, channel) alone; column 0 here is column b_offset of the whole micro-batch of all data-parallel ranks, and
 * channel 0 is channel h_offset. */
void lf_dropout(lf_rank *, const char *what, const void *x, const int32_t *pos, void *y, int64_t s, int64_t b, int64_t h,
                double p, int32_t site, int64_t b_offset, int64_t h_offset);
/* Cross entropy of l[rows, v] on a shard of the vocabulary: columns offset .. offset + v of `valid` (the rest is
 * padding and never counts). labels < 0 are ignored. m, z, t, nll and g are main, and all arrays of the functions that
 * follow. */
void lf_row_max(lf_rank *, const char *what, const void *l, void *m, int64_t rows, int64_t v, int64_t offset,
                int64_t valid);
void lf_sum_exp(lf_rank *, const char *what, const void *l, const void *m, void *z, int64_t rows, int64_t v,
                int64_t offset, int64_t valid);
void lf_pick(lf_rank *, const char *what, const void *l, const int32_t *labels, void *t, int64_t rows, int64_t v,
             int64_t offset);
void lf_nll(lf_rank *, const char *what, const void *z, const void *m, const void *t, const int32_t *labels, void *nll,
            int64_t rows);
void lf_cross_entropy_grad(lf_rank *, const char *what, const void *l, const void *m, const void *z,
                           const int32_t *labels, const void *g, void *dl, int64_t rows, int64_t v, int64_t offset,
                           int64_t valid); /* dl may be l */
void lf_sum_all(lf_rank *, const char *what, const void *x, void *y, int64_t count);           /* y is one real */
void lf_count(lf_rank *, const char *what, const int32_t *labels, void *y, int64_t count);     /* labels >= 0 */
void lf_broadcast(lf_rank *, const char *what, const void *x, void *y, int64_t count);         /* x is one real */
void lf_fill(lf_rank *, const char *what, void *y, double value, int64_t count);
/* dx = dy * share * (labels of the step) / (labels of the step at this depth of multi-token prediction); both one real
 */
void lf_depth_weight(lf_rank *, const char *what, const void *dy, void *dx, int32_t depth, double share);

#ifdef __cplusplus
}
#endif
#endif /* LF_RUNTIME_H */
