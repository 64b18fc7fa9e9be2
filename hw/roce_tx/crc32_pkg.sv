// CRC-32 (IEEE 802.3, reflected) as linear algebra over GF(2): matrices are computed at elaboration, one row an output bit.
package crc32_pkg;

  localparam logic [31:0] POLYNOMIAL = 32'hedb88320;

  typedef logic [31:0] crc_t;
  typedef logic [31:0][31:0] matrix_t;  // [row], a row masks the state

  // The state after one more message bit 0.
  function automatic crc_t forward(input crc_t state);
    return (state >> 1) ^ (state[0] ? POLYNOMIAL : '0);
  endfunction

  // Inverts `forward`: the polynomial's top bit is 1, so the bit that left can be told.
  function automatic crc_t backward(input crc_t state);
    return state[31] ? {state[30:0] ^ POLYNOMIAL[30:0], 1'b1} : {state[30:0], 1'b0};
  endfunction

  // Takes `n_bytes` message bytes of zeros back out of the state.
  function automatic matrix_t backward_matrix(input int unsigned n_bytes);
    matrix_t rows;
    crc_t column;
    rows = '0;
    for (int unsigned c = 0; c < 32; c++) begin
      column = 32'd1 << c;
      for (int unsigned k = 0; k < 8 * n_bytes; k++) column = backward(column);
      for (int unsigned r = 0; r < 32; r++) rows[r][c] = column[r];
    end
    return rows;
  endfunction

  function automatic crc_t multiply(input matrix_t rows, input crc_t state);
    crc_t product;
    for (int unsigned r = 0; r < 32; r++) product[r] = ^(rows[r] & state);
    return product;
  endfunction

endpackage
