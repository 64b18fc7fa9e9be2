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

    input logic [UnitW+15:0] waited_q,
    input logic              waits_q,
    input logic              due_q
);

  reset_rule u_reset (.*);

  // In a row without a move: before this one, and as it was one and two cycles ago
  logic [UnitW+15:0] cycles_q, cycles1_q, cycles2_q;
  logic [15:0] limit_q;
  logic waits, waited1_q, waited2_q, due, fired_q, late_q, over_q, begun_q;

  initial begun_q = 1'b0;

  assign waits = waits_i && !moves_i && !late_o;
  assign due = waited2_q && limit_q != '0 && cycles2_q >= {limit_q, UnitW'(0)};

  always_ff @(posedge clk) begin
    begun_q <= !rst;
    cycles_q <= waits ? cycles_q + 1'b1 : '0;
    {cycles2_q, cycles1_q} <= {cycles1_q, cycles_q};
    {waited2_q, waited1_q} <= {waited1_q, waits};
    limit_q <= limit_i;
    {fired_q, late_q, over_q} <= {fired_o, late_o, over_i};
    if (rst) begin
      cycles_q <= '0;
      {waited2_q, waited1_q} <= '0;
    end
  end

  always_comb begin
    if (!rst) begin
      a_fires : assert (fired_o == (waits && waited1_q && due));
      if (begun_q) a_late : assert (late_o == (fired_q || (late_q && !over_q)));
      if (!begun_q) begin
        a_reset : assert (!late_o);
        i_reset : assert (cycles_q == '0 && !waited1_q && !waited2_q);
      end
      i_waits : assert (waits_q == waited1_q && due_q == due);
      if (begun_q) begin
        i_waited : assert (waited_q == cycles1_q);
        i_cycles : assert (cycles_q == (waited1_q ? cycles1_q + 1'b1 : '0));
      end
    end
  end

endmodule

bind watchdog watchdog_formal #(.UnitW(UnitW)) u_formal (.*);
