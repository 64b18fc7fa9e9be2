// Hears PAUSE (IEEE 802.3, annex 31B) and PFC frames (31D), and says while data or control frames must not start. Sends none.
// A pause lasts its time and up to one quantum more. What is not to be honoured is counted only, and so is everything where the
// time of a quantum is not given: no pause would end.
module pause
  import neighbour_pkg::*;
  import roce_pkg::eth_t;
(
    input logic clk,
    input logic rst,

    // Registers
    input logic        [47:0] local_mac_i,
    input logic               honoured_i,            // 802.3x
    input logic        [ 7:0] data_priorities_i,     // PFC of these holds data
    input logic        [ 7:0] control_priorities_i,  // PFC of these holds control frames
    input logic        [19:0] quanta_per_clock_i,    // in 2^-16

    // Frames without FCS and VLAN tag. Never stalled
    input  logic [63:0] s_axis_tdata,
    input  logic [ 7:0] s_axis_tkeep,
    input  logic        s_axis_tlast,
    input  logic        s_axis_tvalid,
    output logic        s_axis_tready,

    output logic          hold_data_o,
    output logic          hold_control_o,
    output pause_events_t events_o
);

  localparam int unsigned PRIORITIES = 8;
  localparam int unsigned FRACTION_W = 16;
  localparam int unsigned PAUSE_BYTES = ($bits(eth_t) + 32) / 8;
  localparam int unsigned PFC_BYTES = ($bits(eth_t) + $bits(mac_control_t)) / 8;
  localparam int unsigned HEAD_BEATS = (PFC_BYTES + 7) / 8;

  typedef logic [16:0] quanta_t;

  logic ended, addressed, is_pause, is_pfc, unused_user;
  logic [64*HEAD_BEATS-1:0] head;
  logic [10:0] length;
  eth_t eth;
  mac_control_t control;

  frame_head #(
      .Beats(HEAD_BEATS)
  ) u_head (
      .clk,
      .rst,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser(1'b0),
      .s_axis_tvalid,
      .s_axis_tready,
      .ended_o     (ended),
      .head_o      (head),
      .length_o    (length),
      .user_o      (unused_user)
  );

  assign {eth, control} = head[64*HEAD_BEATS-1-:8*PFC_BYTES];
  assign addressed = eth.ethertype == ETHERTYPE_MAC_CONTROL && (eth.dst == MAC_CONTROL_GROUP || eth.dst == local_mac_i);
  assign is_pause = addressed && control.opcode == OPCODE_PAUSE && length >= 11'(PAUSE_BYTES);
  assign is_pfc = addressed && control.opcode == OPCODE_PFC && length >= 11'(PFC_BYTES);

  // Quanta that pass in this cycle
  logic [FRACTION_W-1:0] fraction_q;
  logic [20:0] passed;
  quanta_t whole_q;

  assign passed = 21'(fraction_q) + 21'(quanta_per_clock_i);

  always_ff @(posedge clk) begin
    fraction_q <= passed[FRACTION_W-1:0];
    whole_q <= quanta_t'(passed[20:FRACTION_W]);
    if (rst) begin
      fraction_q <= '0;
      whole_q <= '0;
    end
  end

  // One timer a priority, and one for all. A time counts one more: the quantum that passes when it comes is not whole.
  quanta_t [PRIORITIES:0] timers_q;  // the last is of PAUSE
  logic [PRIORITIES:0] set, runs_q;
  logic [PRIORITIES:0][15:0] times;

  always_comb begin
    times[PRIORITIES] = control.enables;
    set[PRIORITIES]   = ended && is_pause;
    for (int unsigned p = 0; p < PRIORITIES; p++) begin
      times[p] = control.times[PRIORITIES-1-p];
      set[p]   = ended && is_pfc && control.enables[p];
    end
  end

  always_ff @(posedge clk) begin
    for (int unsigned t = 0; t <= PRIORITIES; t++) begin
      runs_q[t] <= timers_q[t] != '0;
      timers_q[t] <= timers_q[t] > whole_q ? timers_q[t] - whole_q : '0;
      if (set[t]) timers_q[t] <= times[t] == '0 ? '0 : quanta_t'(times[t]) + 1'b1;
      if (rst || quanta_per_clock_i == '0) timers_q[t] <= '0;
    end
    hold_data_o <= (runs_q & {honoured_i, data_priorities_i}) != '0;
    hold_control_o <= (runs_q & {honoured_i, control_priorities_i}) != '0;
    if (rst) begin
      runs_q <= '0;
      hold_data_o <= 1'b0;
      hold_control_o <= 1'b0;
    end
  end

  assign events_o = '{
          held: hold_data_o,
          malformed: ended && !is_pause && !is_pfc,
          priority_pause: ended && is_pfc,
          pause: ended && is_pause
      };

  logic unused;
  assign unused = ^{head, eth, control, unused_user};

endmodule
