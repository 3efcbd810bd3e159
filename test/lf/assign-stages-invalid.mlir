// RUN: not lf-opt %s --lf-assign-stages="pp=3" 2>&1 | FileCheck %s --check-prefix=DIVIDE
// RUN: not lf-opt %s --lf-assign-stages="pp=3 layout=Et|ttt|ttt|tL" 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: not lf-opt %s --lf-assign-stages="pp=2 layout=Ett|ttL" 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not lf-opt %s --lf-assign-stages="pp=2 layout=Et*4|xL" 2>&1 | FileCheck %s --check-prefix=SYMBOL
// RUN: not lf-opt %s --lf-assign-stages="pp=2 layout=t*8|EL" 2>&1 | FileCheck %s --check-prefix=FIRST
// RUN: not lf-opt %s --lf-assign-stages="pp=2 layout=E(t*4|t*4L" 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: not lf-opt %s --lf-assign-stages="pp=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: echo "module {}" | not lf-opt --lf-assign-stages 2>&1 | FileCheck %s --check-prefix=CHAIN

lf.chain embed @embed layers [@a, @b] counts [3, 5] head @head

// No layer is dropped to make the numbers fit; the note says what would.
// DIVIDE: [[@LINE-3]]:1: error: "--pipeline-model-parallel-size": expected a divisor of the 8 layers when no layout is given, got 3 (8 % 3 = 2); legal sizes: 1, 2, 4, 8
// DIVIDE: note: a layout can split unevenly: --pipeline-model-parallel-layout "Ett|t*4|ttL"
// STAGES: error: --pipeline-model-parallel-layout: expected a number of stages divisible by the pipeline size (--pp), got 4 stages / 3 = 1 remainder 1; add 2 or remove 1
// STAGES: note: the nearest legal layout is "Et*4|t*3|tL"

// Faults of the string carry the column and a caret.
// MISSING:      error: --pipeline-model-parallel-layout, column 6: expected 8 t, one for each of the model's decoder layers (num_hidden_layers), got 4; 4 missing
// MISSING-NEXT: {{^}}  Ett|ttL
// MISSING-NEXT: {{^}}       ^
// SYMBOL:       error: --pipeline-model-parallel-layout, column 6: expected one of E t m L | ( ) * or a digit after '*', got 'x'
// FIRST:        error: --pipeline-model-parallel-layout, column 1: expected E to begin the first stage, got 't'
// OPEN:         error: --pipeline-model-parallel-layout, column 2: expected ')' for this '(', got the end of the layout
// ZERO:         error: expected pipeline ranks (--pp) x chunks (--vpp) from 1 to 1000000, got 0 x 1
// CHAIN:        error: expected an lf.chain, got none
