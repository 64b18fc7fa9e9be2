// Divides 64 bits by 32, one bit a clock; zeros in front are passed 16 at a time, and a divisor of 1 takes no time.
// A divisor of 0 gives no result, but ends. It is proved at smaller widths.
module serial_divide #(
    parameter int unsigned DividendW = 64,
    parameter int unsigned DivisorW = 32,
    parameter int unsigned Skip = 16  // zeros that are passed at once
) (
    input logic clk,
    input logic rst,

    input  logic                 start_i,     // taken at any time
    input  logic [DividendW-1:0] dividend_i,
    input  logic [ DivisorW-1:0] divisor_i,
    output logic                 done_o,      // from the cycle after start_i on, when the result is there
    output logic [DividendW-1:0] quotient_o,
    output logic [ DivisorW-1:0] remainder_o
);

  localparam int unsigned LEFT_W = $clog2(DividendW + 1);

  logic [DividendW-1:0] bits_q;  // of the dividend from above, of the quotient from below
  logic [DivisorW-1:0] divisor_q, remainder_q;
  logic [LEFT_W-1:0] left_q;
  logic leads_q;  // what was taken of the dividend is zeros
  logic [DivisorW:0] doubled, less;

  // Restoring division: the remainder is smaller than the divisor before each step, so one bit more holds it doubled.
  assign doubled = {remainder_q, bits_q[DividendW-1]};
  assign less = doubled - {1'b0, divisor_q};

  always_ff @(posedge clk) begin
    if (start_i) begin
      bits_q <= dividend_i;
      divisor_q <= divisor_i;
      remainder_q <= '0;
      leads_q <= 1'b1;
      left_q <= divisor_i == DivisorW'(1) ? '0 : LEFT_W'(DividendW);
    end else if (left_q >= LEFT_W'(Skip) && leads_q && bits_q[DividendW-1-:Skip] == '0) begin
      bits_q <= bits_q << Skip;
      left_q <= left_q - LEFT_W'(Skip);
    end else if (left_q != '0) begin
      remainder_q <= less[DivisorW] ? doubled[DivisorW-1:0] : less[DivisorW-1:0];
      bits_q <= {bits_q[DividendW-2:0], !less[DivisorW]};
      left_q <= left_q - 1'b1;
      leads_q <= 1'b0;
    end
    if (rst) begin
      left_q  <= '0;
      leads_q <= 1'b0;
    end
  end

  assign done_o = left_q == '0;
  assign quotient_o = bits_q;
  assign remainder_o = remainder_q;

endmodule
