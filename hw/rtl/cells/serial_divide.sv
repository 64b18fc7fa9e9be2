// Divides 64 bits by 32, one bit a clock; zeros in front are passed 16 at a time, and a divisor of 1 takes no time.
// A divisor of 0 gives no result, but ends.
module serial_divide (
    input logic clk,
    input logic rst,

    input  logic        start_i,      // taken at any time
    input  logic [63:0] dividend_i,
    input  logic [31:0] divisor_i,
    output logic        done_o,       // from the cycle after start_i on, when the result is there
    output logic [63:0] quotient_o,
    output logic [31:0] remainder_o
);

  localparam int unsigned SKIP = 16;

  logic [63:0] bits_q;  // of the dividend from above, of the quotient from below
  logic [31:0] divisor_q, remainder_q;
  logic [6:0] left_q;
  logic leads_q;  // what was taken of the dividend is zeros
  logic [32:0] doubled, less;

  // Restoring division: the remainder is smaller than the divisor before each step, so 33 bits hold it doubled.
  assign doubled = {remainder_q, bits_q[63]};
  assign less = doubled - {1'b0, divisor_q};

  always_ff @(posedge clk) begin
    if (start_i) begin
      bits_q <= dividend_i;
      divisor_q <= divisor_i;
      remainder_q <= '0;
      leads_q <= 1'b1;
      left_q <= divisor_i == 32'd1 ? '0 : 7'd64;
    end else if (left_q >= 7'(SKIP) && leads_q && bits_q[63-:SKIP] == '0) begin
      bits_q <= bits_q << SKIP;
      left_q <= left_q - 7'(SKIP);
    end else if (left_q != '0) begin
      remainder_q <= less[32] ? doubled[31:0] : less[31:0];
      bits_q <= {bits_q[62:0], !less[32]};
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
