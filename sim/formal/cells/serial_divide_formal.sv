// serial_divide gives quotient and remainder as / and % of SystemVerilog do, shown at a small width.
module serial_divide_formal #(
    parameter int unsigned DividendW = 64,
    parameter int unsigned DivisorW  = 32,

    localparam int unsigned LeftW = $clog2(DividendW + 1)
) (
    input logic clk,
    input logic rst,

    input logic                 start_i,
    input logic [DividendW-1:0] dividend_i,
    input logic [ DivisorW-1:0] divisor_i,
    input logic                 done_o,
    input logic [DividendW-1:0] quotient_o,
    input logic [ DivisorW-1:0] remainder_o,

    input logic [DividendW-1:0] bits_q,
    input logic [ DivisorW-1:0] divisor_q,
    input logic [ DivisorW-1:0] remainder_q,
    input logic [    LeftW-1:0] left_q,
    input logic                 leads_q
);

  localparam int unsigned W = DividendW + DivisorW;

  reset_rule u_reset (.*);

  logic [DividendW-1:0] dividend_q, begun;
  logic started_q;
  logic [LeftW-1:0] cycles_q;  // since the start
  logic [DividendW-1:0] quotient, rest;  // of what is taken of the dividend, and what is left of it
  logic valid;                           // there is a result to come

  always_ff @(posedge clk) begin
    cycles_q <= cycles_q + LeftW'(cycles_q != LeftW'(DividendW));
    if (start_i) begin
      dividend_q <= dividend_i;
      started_q  <= 1'b1;
      cycles_q   <= '0;
    end
    if (rst) started_q <= 1'b0;
  end

  assign begun = dividend_q >> left_q;
  assign quotient = bits_q & ~(~DividendW'(0) << (LeftW'(DividendW) - left_q));
  assign rest = dividend_q & ~(~DividendW'(0) << left_q);
  assign valid = divisor_q != '0;

  always_comb begin
    if (started_q && !rst) begin
      if (done_o && valid) a_quotient : assert (quotient_o == dividend_q / DividendW'(divisor_q));
      if (done_o && valid) a_remainder : assert (DividendW'(remainder_o) == dividend_q % DividendW'(divisor_q));
      if (cycles_q == LeftW'(DividendW)) a_ends : assert (done_o);
      if (divisor_q == DivisorW'(1)) a_at_once : assert (done_o);
      i_left : assert (left_q <= LeftW'(DividendW) && cycles_q <= LeftW'(DividendW) - left_q || done_o);
      i_most : assert (left_q <= LeftW'(DividendW) && cycles_q <= LeftW'(DividendW));
      if (valid) i_smaller : assert (remainder_q < divisor_q);
      if (valid) i_sum : assert (W'(begun) == W'(quotient) * W'(divisor_q) + W'(remainder_q));
      i_rest : assert (bits_q >> (LeftW'(DividendW) - left_q) == rest);
      if (leads_q && !done_o) i_zeros : assert (begun == '0 && quotient == '0 && remainder_q == '0);
    end
  end

endmodule

bind serial_divide serial_divide_formal #(
    .DividendW(DividendW),
    .DivisorW (DivisorW)
) u_formal (
    .*
);
