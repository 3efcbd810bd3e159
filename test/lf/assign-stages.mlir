// RUN: lf-opt %s --lf-assign-stages="pp=1" | FileCheck %s --check-prefix=ONE
// RUN: lf-opt %s --lf-assign-stages="pp=2" | FileCheck %s --check-prefix=EVEN
// RUN: lf-opt %s --lf-assign-stages="pp=2 layout=Ett|t*6L" | FileCheck %s --check-prefix=UNEVEN
// RUN: lf-opt %s --lf-assign-stages="pp=2 layout=Et|ttt|ttt|tL" | FileCheck %s --check-prefix=CHUNKS
// RUN: lf-opt %s --lf-assign-stages="pp=4 layout=E||t*8|L" | FileCheck %s --check-prefix=EMPTY

lf.chain embed @embed layers [@a, @b] counts [3, 5] head @head

// One rank holds all.
// ONE:      lf.stage @stage0 pp 0 chunk 0 embed layers [@a, @b] counts [3, 5] first 0 head
// ONE-NOT:  lf.stage

// Equal parts; a stage that crosses from one kind of layer to the other has a run of each.
// EVEN:      lf.chain
// EVEN-NEXT: lf.stage @stage0 pp 0 chunk 0 embed layers [@a, @b] counts [3, 1] first 0{{$}}
// EVEN-NEXT: lf.stage @stage1 pp 1 chunk 0 layers [@b] counts [4] first 4 head
// EVEN-NOT:  lf.stage

// The layout is taken as it stands; every layer is numbered once, in order.
// UNEVEN:      lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [2] first 0{{$}}
// UNEVEN-NEXT: lf.stage @stage1 pp 1 chunk 0 layers [@a, @b] counts [1, 5] first 2 head
// UNEVEN-NOT:  lf.stage

// More stages than ranks go round: stage i is chunk i / pp of rank i % pp.
// CHUNKS:      lf.stage @stage0 pp 0 chunk 0 embed layers [@a] counts [1] first 0{{$}}
// CHUNKS-NEXT: lf.stage @stage1 pp 1 chunk 0 layers [@a, @b] counts [2, 1] first 1{{$}}
// CHUNKS-NEXT: lf.stage @stage2 pp 0 chunk 1 layers [@b] counts [3] first 4{{$}}
// CHUNKS-NEXT: lf.stage @stage3 pp 1 chunk 1 layers [@b] counts [1] first 7 head
// CHUNKS-NOT:  lf.stage

// A stage may hold no layer: the embedding alone, nothing, the loss alone.
// EMPTY:      lf.stage @stage0 pp 0 chunk 0 embed layers [] counts [] first 0{{$}}
// EMPTY-NEXT: lf.stage @stage1 pp 1 chunk 0 layers [] counts [] first 0{{$}}
// EMPTY-NEXT: lf.stage @stage2 pp 2 chunk 0 layers [@a, @b] counts [3, 5] first 0{{$}}
// EMPTY-NEXT: lf.stage @stage3 pp 3 chunk 0 layers [] counts [] first 0 head
