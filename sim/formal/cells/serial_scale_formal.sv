// serial_scale gives offset + value * factor as SystemVerilog does: shown of the low bits of the result, for all values.
module serial_scale_formal (
    input logic clk,
    input logic rst,

    input logic        start_i,
    input logic [63:0] value_i,
    input logic [31:0] factor_i,
    input logic [63:0] offset_i,
    input logic        done_o,
    input logic [63:0] result_o,

    input logic [63:0] value_q,
    input logic [31:0] factor_q
);

  localparam int unsigned LOW_W = 6;

  typedef logic [LOW_W-1:0] low_t;

  reset_rule u_reset (.*);

  // From the lowest bit of the factor on: a step of the block takes away the first summand, and the sum stays.
  function automatic low_t sum(input low_t offset, input low_t value, input low_t factor);
    sum = offset;
    for (int unsigned k = 0; k < LOW_W; k++) if (factor[k]) sum += value << k;
  endfunction

  low_t whole_q;
  logic started_q;
  logic [5:0] cycles_q;  // since the start
  logic [5:0] bits_q;    // of the factor

  function automatic logic [5:0] length(input logic [31:0] factor);
    length = '0;
    for (int unsigned k = 0; k < 32; k++) if (factor[k]) length = 6'(k + 1);
  endfunction

  always_ff @(posedge clk) begin
    cycles_q <= cycles_q + 6'(cycles_q != 6'd32);
    if (start_i) begin
      whole_q   <= low_t'(offset_i) + low_t'(value_i) * low_t'(factor_i);
      started_q <= 1'b1;
      cycles_q  <= '0;
      bits_q    <= length(factor_i);
    end
    if (rst) started_q <= 1'b0;
  end

  always_comb begin
    if (started_q && !rst) begin
      if (done_o) a_result : assert (low_t'(result_o) == whole_q);
      a_takes : assert (done_o == (cycles_q >= bits_q));
      i_sum : assert (sum(low_t'(result_o), low_t'(value_q), low_t'(factor_q)) == whole_q);
      i_left : assert (length(factor_q) == (cycles_q >= bits_q ? '0 : bits_q - cycles_q));
      i_most : assert (bits_q <= 6'd32 && cycles_q <= 6'd32);
    end
  end

endmodule

bind serial_scale serial_scale_formal u_formal (.*);
