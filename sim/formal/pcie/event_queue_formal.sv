// event_queue writes no entry that software has not given back, each in its place, and refuses no event for which there is room. Software gives back
// what was written, and never takes it back.
module event_queue_formal
  import pcie_pkg::*;
  import framelane_pkg::bd_t;
(
    input logic clk,
    input logic rst,

    input logic [63:0] base_i,
    input logic [ 4:0] log2_i,
    input logic [31:0] consumed_i,
    input logic [31:0] produced_o,
    input logic        event_o,
    input logic        lost_o,
    input logic        status_valid_i,

    // Inside
    input bd_t         next_bd,
    input logic        sends,
    input logic        passes,
    input logic        room,
    input logic        checked_q,
    input logic        settled_q,
    input logic        full_q,
    input logic [16:0] used_q,
    input logic [16:0] within_q,
    input logic [63:0] at_q,
    input logic [ 4:0] owed_q,
    input logic        asks
);

  reset_rule u_reset (.*);

  logic [4:0] any_log2;
  logic [63:0] any_base;
  logic [31:0] used, consumed_q, entries, produced_q, index, mask;
  logic event_q, event2_q, reset_q, reset2_q;

  always_ff @(posedge clk) begin
    any_log2 <= any_log2;
    any_base <= any_base;
  end

  assign entries = 32'd1 << any_log2;
  assign used = produced_o - consumed_i;
  assign index = produced_o & mask;
  assign mask = entries - 1'b1;

  always_comb assume (log2_i == any_log2 && any_log2 >= 5'd1 && any_log2 <= 5'd16);
  always_comb assume (base_i == any_base && (any_base & (64'(entries) * 64'd64 - 64'd1)) == '0);
  always_comb assume (used <= entries);  // no more is given back than was written
  always_comb assume (rst || reset_q || produced_q - consumed_i <= produced_q - consumed_q);  // and nothing taken back

  always_ff @(posedge clk) begin
    consumed_q <= consumed_i;
    produced_q <= produced_o;
    event_q <= event_o && !rst;
    event2_q <= event_q;
    reset_q <= rst;
    reset2_q <= reset_q;
  end

  initial reset_q = 1'b1;

  // Cycles since the begin: what no reset clears counts from then on.
  logic [1:0] ran_q;

  initial ran_q = '0;
  always_ff @(posedge clk) ran_q <= {ran_q[0], 1'b1};

  // How the counts were when it was looked at.
  logic [31:0] used1_q, used2_q, produced2_q, consumed2_q;

  always_ff @(posedge clk) begin
    used1_q <= used;
    used2_q <= used1_q;
    produced2_q <= produced_q;
    consumed2_q <= consumed_q;
  end

  always_comb begin
    if (ran_q[0]) begin
      i_within : assert (32'(within_q) == entries - 1'b1);
      i_bound : assert (used1_q <= entries && used1_q == produced_q - consumed_q);
      i_used : assert (used_q == 17'(used1_q));
      if (settled_q) i_settled : assert (!event_q);
      if (!reset_q) i_count : assert (produced_o == produced_q + 32'(event_q));
    end
    if (ran_q[1]) begin
      i_full : assert (ran_q[0] && used2_q <= entries && full_q == (used2_q == entries));
      i_bound2 : assert (used2_q == produced2_q - consumed2_q);
      if (!reset2_q) i_count2 : assert (produced_q == produced2_q + 32'(event2_q));
      if (!reset_q && !reset2_q) i_back : assert (produced2_q - consumed_q <= produced2_q - consumed2_q);
      i_at : assert (at_q == (any_base | 64'(produced_q & mask) * 64'd64));
      if (checked_q) i_still : assert (!reset_q && !event_q && !event2_q);
    end
    if (!rst && !reset_q && !reset2_q && ran_q == '1) begin
      if (event_o) a_room : assert (used < entries);
      if (event_o) begin
        a_place : assert (next_bd.destination == (any_base | 64'(index) * 64'd64) && next_bd.length == 32'd64);
      end
      if (lost_o) a_full : assert (used2_q == entries || used1_q == entries);
      a_one : assert (!(event_o && lost_o) && !(event_o && asks));
    end
  end

  logic unused;
  assign unused = ^{status_valid_i, sends, passes, room, owed_q};

endmodule

bind event_queue event_queue_formal u_formal (
    .*
);
