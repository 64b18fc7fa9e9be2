// Says when something has waited too long without a move: `late_o` from then on, until `over_i`. Whether it waits comes from far: that
// is counted a cycle later, and compared one later still.
module watchdog #(
    parameter int unsigned UnitW = 16  // the limit is in 2^UnitW cycles, and two more
) (
    input logic clk,
    input logic rst,

    input logic [15:0] limit_i,  // 0: never
    input logic        waits_i,
    input logic        moves_i,
    input logic        over_i,   // what is late has ended

    output logic late_o,
    output logic fired_o  // pulse: it is late from now on
);

  logic [UnitW+15:0] waited_q;  // without the cycle before this one
  logic waits, waits_q, due_q;

  assign waits   = waits_i && !moves_i && !late_o;
  assign fired_o = waits && waits_q && due_q;

  always_ff @(posedge clk) begin
    waits_q  <= waits;
    waited_q <= waits_q ? waited_q + 1'b1 : '0;
    due_q    <= waits_q && limit_i != '0 && waited_q[UnitW+:16] >= limit_i;
    if (over_i) late_o <= 1'b0;
    if (fired_o) late_o <= 1'b1;
    if (rst) begin
      waits_q <= 1'b0;
      due_q <= 1'b0;
      late_o <= 1'b0;
    end
  end

endmodule
