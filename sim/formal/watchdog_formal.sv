// watchdog: what has waited for the limit without a move is late from then on until it is over, and nothing else is.
module watchdog_formal #(
    parameter int unsigned UnitW = 16
) (
    input logic clk,
    input logic rst,

    input logic [15:0] limit_i,
    input logic        waits_i,
    input logic        moves_i,
    input logic        over_i,
    input logic        late_o,
    input logic        fired_o,

    input logic [UnitW+15:0] waited_q
);

  reset_rule u_reset (.*);

  logic [UnitW+15:0] cycles_q;  // in a row without a move
  logic waits, due, fired_q, late_q, over_q, begun_q;

  initial begun_q = 1'b0;

  assign waits = waits_i && !moves_i && !late_o;
  assign due = cycles_q >= {limit_i, UnitW'(0)};

  always_ff @(posedge clk) begin
    begun_q <= !rst;
    cycles_q <= waits ? cycles_q + 1'b1 : '0;
    {fired_q, late_q, over_q} <= {fired_o, late_o, over_i};
    if (rst) cycles_q <= '0;
  end

  always_comb begin
    if (!rst) begin
      a_fires : assert (fired_o == (waits && limit_i != '0 && due));
      if (begun_q) a_late : assert (late_o == (fired_q || (late_q && !over_q)));
      if (!begun_q) a_reset : assert (!late_o);
      i_waited : assert (waited_q == cycles_q);
    end
  end

endmodule

bind watchdog watchdog_formal #(.UnitW(UnitW)) u_formal (.*);
