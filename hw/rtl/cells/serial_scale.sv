// offset + value * factor modulo 2^64, one bit of the factor a clock, until no more of its bits are set.
module serial_scale (
    input logic clk,
    input logic rst,

    input  logic        start_i,   // taken at any time
    input  logic [63:0] value_i,
    input  logic [31:0] factor_i,
    input  logic [63:0] offset_i,
    output logic        done_o,    // from the cycle after start_i on, when the result is there
    output logic [63:0] result_o
);

  logic [63:0] value_q, result_q;
  logic [31:0] factor_q;

  always_ff @(posedge clk) begin
    if (start_i) begin
      value_q  <= value_i;
      factor_q <= factor_i;
      result_q <= offset_i;
    end else begin
      if (factor_q[0]) result_q <= result_q + value_q;
      value_q  <= value_q << 1;
      factor_q <= factor_q >> 1;
    end
    if (rst) factor_q <= '0;
  end

  assign done_o = factor_q == '0;
  assign result_o = result_q;

endmodule
