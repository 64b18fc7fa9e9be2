// A board's clock, the stamp of its trigger, and the frame that gets it: what a trigger is in a trailer. For simulation only.
module stamped_board
  import framelane_pkg::frame_info_t;
  import time_pkg::*;
(
    input logic clk,
    input logic rst,

    input rate_t        rate_i,
    input time_t        value_i,
    input logic         set_i,
    input logic  [31:0] own_period_i,  // of clk, 2^-24 ns

    input logic trigger_i,

    output logic        stepped_o,
    output time_t       time_o,
    output logic [15:0] triggers_o,
    output logic [63:0] timestamp_ns_o  // of the frame that begins now
);

  tai_t tai;
  event_t trigger;
  frame_info_t info;

  time_counter u_counter (
      .clk,
      .rst,
      .rate_i,
      .value_i,
      .set_i,
      .step_i    (1'b0),
      .stepping_o(),
      .stepped_o,
      .amount_i  ('0),
      .slew_i    (1'b0),
      .slewing_o (),
      .time_o,
      .tai_o     (tai),
      .pps_i     (1'b0),
      .pps_o     ()
  );

  edge_stamp u_trigger (
      .clk,
      .rst,
      .signal_i (trigger_i),
      .tai_i    (tai),
      .own_period_i,
      .latency_i('0),
      .event_o  (trigger)
  );

  frame_stamp u_frame (
      .clk,
      .rst,
      .mode_i   (2'd2),
      .tai_i    (tai),
      .trigger_i(trigger.tai.ns),
      .quality_i('0),
      .tvalid_i (1'b1),
      .tready_i (1'b1),
      .tlast_i  (1'b1),
      .info_i   ('0),
      .info_o   (info)
  );

  assign triggers_o = trigger.count;
  assign timestamp_ns_o = info.timestamp_ns;

  logic unused;
  assign unused = ^{info, trigger.tai.fraction};

endmodule
