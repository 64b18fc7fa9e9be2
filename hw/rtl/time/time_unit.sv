// A clock of TAI with its registers, and all that it stamps: edges, a detector's frames, messages of PTP at a MAC. Wiring only.
//
//   registers -> time_counter -> time_cross -> ptp_port: the MAC's packets each way -> messages, to send and received
//                    |    '----> time_cross -> frame_stamp: timestamp_ns of a frame, and what it is worth
//                    '-> edge_stamp: a trigger, pulses per second
//
// It has registers behind those of the transmitter, on the same bus, and stays out of the core's reset.
module time_unit
  import axi_pkg::*;
  import framelane_pkg::frame_info_t;
  import framelane_pkg::time_flags_t;
  import time_pkg::*;
#(
    parameter int unsigned DataW      = 512,
    parameter int unsigned MacW       = 512,
    parameter int unsigned ClockHz    = 250_000_000,  // of clk
    parameter bit          Frames     = 1'b1,         // frames are stamped
    parameter bit          Servo      = 1'b0,         // pulses per second keep the clock, without software
    parameter bit          MacClock   = 1'b1,         // 0: the MAC's clocks are clk
    parameter bit          PixelClock = 1'b1,         // 0: that of the pixels is

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned MacKeepW = MacW / 8
) (
    input logic clk,
    input logic rst,

    // AXI4-Lite
    input  axil_request_t  s_axil_i,
    output axil_response_t s_axil_o,

    // Edges of any clock, high and low for two cycles at least
    input  logic trigger_i,
    input  logic pps_i,
    output logic pps_o,      // high for the first tenth of a second

    // A message to send: a packet of up to 128 bytes
    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    // The packets to the MAC: a beat is one that is taken
    input logic                tx_clk,
    input logic                tx_rst,
    input logic [    MacW-1:0] tx_tdata_i,
    input logic [MacKeepW-1:0] tx_tkeep_i,
    input logic                tx_tlast_i,
    input logic                tx_tuser_i,  // with tlast: wrong
    input logic                tx_taken_i,

    // Those from it
    input logic                rx_clk,
    input logic                rx_rst,
    input logic [    MacW-1:0] rx_tdata_i,
    input logic [MacKeepW-1:0] rx_tkeep_i,
    input logic                rx_tlast_i,
    input logic                rx_tuser_i,  // with tlast: wrong
    input logic                rx_taken_i,

    // A detector's pixels: of a frame's first beat info_i becomes info_o
    input  logic        pixel_clk,
    input  logic        pixel_rst,
    input  logic        pixel_tvalid_i,
    input  logic        pixel_tready_i,
    input  logic        pixel_tlast_i,
    input  frame_info_t pixel_info_i,
    output frame_info_t pixel_info_o
);

  localparam int unsigned QUEUE_LOG = 3;

  // The reset a cycle later, a copy each for the clock, for messages, and for the rest
  (* keep, dont_merge *)logic [2:0] rst_q;
  always_ff @(posedge clk) begin
    for (int unsigned k = 0; k < 3; k++) if (rst || rst_q[k]) rst_q[k] <= rst;
  end

  time_control_t control;
  time_report_t report;
  time_flags_t quality;
  logic stepped, manual, servo_locked, servo_holdover;
  logic [31:0] servo_offset;
  rate_t rate;
  time_t value;
  logic step;
  tai_t tai, rx_tai, tx_tai;

  time_registers #(
      .ClockHz (ClockHz),
      .Frames  (Frames),
      .Servo   (Servo),
      .QueueLog(QUEUE_LOG)
  ) u_registers (
      .clk,
      .rst,
      .s_axil_i,
      .s_axil_o,
      .control_o       (control),
      .quality_o       (quality),
      .report_i        (report),
      .manual_o        (manual),
      .servo_locked_i  (servo_locked),
      .servo_holdover_i(servo_holdover),
      .servo_offset_i  (servo_offset)
  );

  time_counter u_counter (
      .clk,
      .rst       (rst_q[0]),
      .rate_i    (rate),
      .value_i   (value),
      .set_i     (control.set),
      .step_i    (step),
      .stepping_o(report.stepping),
      .stepped_o (stepped),
      .amount_i  (control.amount),
      .slew_i    (control.slew),
      .slewing_o (report.slewing),
      .time_o    (report.now),
      .tai_o     (tai),
      .pps_i     (control.pps),
      .pps_o
  );

  // Where pulses per second keep it, the rate's adjustment and steps are theirs; software may still set the time.
  if (Servo) begin : gen_servo
    logic [31:0] adjust;
    time_t back;
    logic asks, steps, stepping_q;

    time_servo #(
        .ClockHz(ClockHz)
    ) u_servo (
        .clk,
        .rst       (rst_q[1]),
        .run_i     (!manual),
        .event_i   (report.pps),
        .ns_i      (report.now.ns),
        .adjust_o  (adjust),
        .value_o   (back),
        .step_o    (asks),
        .locked_o  (servo_locked),
        .holdover_o(servo_holdover),
        .offset_o  (servo_offset)
    );

    // A step's value stays until it is done. Software's own goes first: what that does to the time is seen at the next pulse.
    assign steps = asks && !report.stepping && !control.set && !control.step;

    always_ff @(posedge clk) begin
      stepping_q <= steps || (stepping_q && report.stepping);
      if (rst_q[1]) stepping_q <= 1'b0;
    end

    always_comb begin
      rate = control.rate;
      if (!manual) rate.adjust = adjust;
      value = steps || stepping_q ? back : control.value;
      step  = control.step || steps;
    end
  end else begin : gen_no_servo
    assign rate = control.rate;
    assign value = control.value;
    assign step = control.step;
    assign {servo_locked, servo_holdover, servo_offset} = '0;

    logic unused_manual;
    assign unused_manual = manual;
  end

  edge_stamp u_trigger (
      .clk,
      .rst         (rst_q[1]),
      .signal_i    (trigger_i),
      .tai_i       (tai),
      .own_period_i(control.own_period),
      .latency_i   (control.trigger_latency),
      .event_o     (report.trigger)
  );

  edge_stamp u_pps (
      .clk,
      .rst         (rst_q[1]),
      .signal_i    (pps_i),
      .tai_i       (tai),
      .own_period_i(control.own_period),
      .latency_i   (control.pps_latency),
      .event_o     (report.pps)
  );

  time_cross #(
      .Cross(MacClock)
  ) u_rx_time (
      .clk,
      .rst         (rst_q[1]),
      .tai_i       (tai),
      .own_period_i(control.own_period),
      .period_i    (control.rx_period),
      .latency_i   (control.rx_latency),
      .m_clk       (rx_clk),
      .tai_o       (rx_tai)
  );

  // On the line it is later than here.
  logic [31:0] tx_latency_q;
  always_ff @(posedge clk) tx_latency_q <= -control.tx_latency;

  time_cross #(
      .Cross(MacClock)
  ) u_tx_time (
      .clk,
      .rst         (rst_q[1]),
      .tai_i       (tai),
      .own_period_i(control.own_period),
      .period_i    (control.tx_period),
      .latency_i   (tx_latency_q),
      .m_clk       (tx_clk),
      .tai_o       (tx_tai)
  );

  ptp_port #(
      .DataW   (DataW),
      .MacW    (MacW),
      .QueueLog(QUEUE_LOG),
      .Patience(ClockHz / 16)
  ) u_port (
      .clk,
      .rst       (rst_q[2]),
      .receive_i (control.receive),
      .next_i    (control.next),
      .index_i   (control.word_index),
      .valid_o   (report.rx_valid),
      .bytes_o   (report.rx_bytes),
      .tai_o     (report.rx),
      .word_o    (report.rx_word),
      .lost_o    (report.rx_lost),
      .write_i   (control.word_write),
      .word_i    (control.word),
      .send_i    (control.send),
      .bytes_i   (control.bytes),
      .sending_o (report.sending),
      .sent_o    (report.tx),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tvalid,
      .m_axis_tready,
      .tx_clk,
      .tx_rst,
      .tx_tdata_i,
      .tx_tkeep_i,
      .tx_tlast_i,
      .tx_tuser_i,
      .tx_taken_i,
      .tx_tai_i  (tx_tai),
      .rx_clk,
      .rx_rst,
      .rx_tdata_i,
      .rx_tkeep_i,
      .rx_tlast_i,
      .rx_tuser_i,
      .rx_taken_i,
      .rx_tai_i  (rx_tai)
  );

  if (Frames) begin : gen_frames
    tai_t pixel_tai;
    logic [1:0] mode;
    time_flags_t pixel_quality;
    logic [63:0] trigger;

    time_cross #(
        .Cross(PixelClock)
    ) u_time (
        .clk,
        .rst         (rst_q[1]),
        .tai_i       (tai),
        .own_period_i(control.own_period),
        .period_i    (control.pixel_period),
        .latency_i   (control.pixel_latency),
        .m_clk       (pixel_clk),
        .tai_o       (pixel_tai)
    );

    if (PixelClock) begin : gen_cross
      cdc_word #(
          .Width(98)
      ) u_word (
          .s_clk (clk),
          .word_i({control.frames, quality, report.trigger.tai.ns}),
          .m_clk (pixel_clk),
          .word_o({mode, pixel_quality, trigger})
      );
    end else begin : gen_same
      assign mode = control.frames;
      assign pixel_quality = quality;
      assign trigger = report.trigger.tai.ns;
    end

    frame_stamp u_stamp (
        .clk      (pixel_clk),
        .rst      (pixel_rst),
        .mode_i   (mode),
        .tai_i    (pixel_tai),
        .trigger_i(trigger),
        .quality_i(pixel_quality),
        .tvalid_i (pixel_tvalid_i),
        .tready_i (pixel_tready_i),
        .tlast_i  (pixel_tlast_i),
        .info_i   (pixel_info_i),
        .info_o   (pixel_info_o)
    );
  end else begin : gen_no_frames
    assign pixel_info_o = pixel_info_i;

    logic unused_pixels;
    assign unused_pixels = ^{pixel_clk, pixel_rst, pixel_tvalid_i, pixel_tready_i, pixel_tlast_i, control.frames,
                             quality, control.pixel_period, control.pixel_latency};
  end

  logic unused;
  assign unused = stepped;

endmodule
