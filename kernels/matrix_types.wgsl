// Prelude of the kernels for matrix units: f16 matrices of MATRIX rows and columns, and their f32 sums, each
// shared by the LANES = MATRIX^2 / 8 lanes of a subgroup. The registry puts both numbers before this source.
alias Left = subgroup_matrix_left<f16, MATRIX, MATRIX>;
alias Right = subgroup_matrix_right<f16, MATRIX, MATRIX>;
alias Sum = subgroup_matrix_result<f32, MATRIX, MATRIX>;
