// Says when something has waited too long without a move: `late_o` from then on, until `over_i`.
module watchdog #(
    parameter int unsigned UnitW = 16  // the limit is in 2^UnitW cycles
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

  logic [UnitW+15:0] waited_q;

  assign fired_o = waits_i && !moves_i && !late_o && limit_i != '0 && waited_q[UnitW+:16] >= limit_i;

  always_ff @(posedge clk) begin
    waited_q <= waits_i && !moves_i && !late_o ? waited_q + 1'b1 : '0;
    if (over_i) late_o <= 1'b0;
    if (fired_o) late_o <= 1'b1;
    if (rst) begin
      waited_q <= '0;
      late_o   <= 1'b0;
    end
  end

endmodule
