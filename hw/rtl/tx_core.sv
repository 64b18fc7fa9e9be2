// The transmitter without its registers and its station: what a reset of the core restarts. Wiring only.
//
//   frames -> bd_gen -> [tx_rc] -> tx_payload -> messages, payload -> roce_tx -> packets
//                          |           '-> items ---.                    |
//                          '-> or frame_ledger <----'<- ends of messages '
module tx_core
  import axi_pkg::*;
  import framelane_pkg::*;
  import rc_pkg::*;
  import roce_pkg::*;
  import tx_counters_pkg::*;
#(
    parameter int unsigned DataW        = 512,
    parameter int unsigned NumQp        = 16,
    parameter int unsigned Flows        = 4,
    parameter int unsigned Destinations = 16,
    parameter int unsigned ReadDepth    = 64,           // transfers that the memory reader runs ahead
    parameter int unsigned ReadBeats    = 512,          // for which it has room
    parameter int unsigned MaxBurst     = 256,          // beats of its longest burst
    parameter int unsigned ClockHz      = 250_000_000,
    parameter bit          Rc           = 1'b0,         // QPs may be of RC
    parameter int unsigned RcQps        = 16,
    parameter int unsigned RcDepth      = 64,
    parameter int unsigned RcAhead      = 384,
    parameter int unsigned MaxSlots     = 1024,         // frames that may be held, if Rc
    parameter bit          TimeFlags    = 1'b0,         // frames may bring time_flags; 0: those of all are 0

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic [CORE_RESETS-1:0] rst,  // always equal

    // The registers
    input logic              armed_i,
    input logic       [47:0] local_mac_i,
    input logic       [31:0] local_ip_i,
    input rc_control_t       rc_control_i,
    output rc_report_t       rc_report_o,

    // The QP table
    input  qp_write_t s_axis_qp_tdata,
    input  logic      s_axis_qp_tvalid,
    output logic      s_axis_qp_tready,

    // Tables: the entry that was asked for a cycle before
    output logic    [1:0][7:0] flow_index_o,
    input  flow_t              flow_i,
    output logic         [7:0] destination_index_o,
    input  destination_t       destination_i,

    // Frames that lie complete in memory, with rising numbers. Each is released once, in order: its memory is free again
    input  frame_t s_axis_frame_tdata,
    input  logic   s_axis_frame_tvalid,
    output logic   s_axis_frame_tready,
    output logic   release_o,            // pulse

    // AXI4 read master: the frame memory
    output axi_read_request_t              m_axi_o,
    input  axi_read_response_t             m_axi_i,
    input  logic               [DataW-1:0] m_axi_rdata,

    // Ethernet frames without FCS
    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    // RoCEv2 frames from receivers, for RC
    input  logic [63:0] s_axis_roce_tdata,
    input  logic [ 7:0] s_axis_roce_tkeep,
    input  logic        s_axis_roce_tlast,
    input  logic        s_axis_roce_tvalid,
    output logic        s_axis_roce_tready,

    // For the counters: amounts, QPs of CNPs, events
    output count_t           m_axis_count_tdata,
    output logic             m_axis_count_tvalid,
    input  logic             m_axis_count_tready,
    output logic       [7:0] m_axis_cnp_tdata,
    output logic             m_axis_cnp_tvalid,
    input  logic             m_axis_cnp_tready,
    output refusal_t         refusal_o,
    output logic             refusal_valid_o,      // pulse
    output logic             frame_o,              // pulse: a frame came while armed
    output logic             ignored_o,            // pulse: while not armed
    output logic             read_error_o,         // pulse
    output logic             status_valid_o,       // pulse: a message ended
    output status_e          status_o,             // how
    output rc_pulses_t       rc_pulses_o,

    output logic idle_o  // nothing is under way
);

  bd_t bd_tdata;
  trailer_t placed_tdata, trailer_tdata;
  rc_item_t issue_tdata, item_tdata;
  message_t msg_tdata;
  count_t place_count_tdata, ledger_count_tdata;
  logic bd_tvalid, bd_tready, placed_tvalid, placed_tready, issue_tvalid, issue_tready, trailer_tvalid, trailer_tready;
  logic item_tvalid, item_tready, msg_tvalid, msg_tready, over_tvalid, over_tready, rate_tvalid, rate_tready;
  logic place_count_tvalid, place_count_tready, ledger_count_tvalid, ledger_count_tready;
  logic [15:0] room_wanted, over_tdata;
  logic room, admit, spend, bd_gen_idle, roce_idle, ledger_idle;
  logic [7:0] room_qp, mtu_index, spend_index, rate_index, in_line, status_qp;
  logic [3:0] mtu_log2;
  logic [12:0] spend_bytes;
  logic [23:0] rate_tdata;
  logic [DataW-1:0] payload_tdata;
  logic [KeepW-1:0] payload_tkeep;
  logic payload_tlast, payload_tuser, payload_tvalid, payload_tready;
  errors_t unused_errors;  // the registers count these themselves

  axis_merge #(
      .DataW($bits(count_t))
  ) u_counts (
      .clk,
      .rst(rst[1]),
      .s_axis_a_tdata (place_count_tdata),
      .s_axis_a_tvalid(place_count_tvalid),
      .s_axis_a_tready(place_count_tready),
      .s_axis_b_tdata (ledger_count_tdata),
      .s_axis_b_tvalid(ledger_count_tvalid),
      .s_axis_b_tready(ledger_count_tready),
      .m_axis_tdata   (m_axis_count_tdata),
      .m_axis_tvalid  (m_axis_count_tvalid),
      .m_axis_tready  (m_axis_count_tready)
  );

  bd_gen #(
      .Flows       (Flows),
      .Destinations(Destinations),
      .TimeFlags   (TimeFlags)
  ) u_bd_gen (
      .clk,
      .rst(rst[0]),
      .armed_i,
      .flow_index_o,
      .flow_i,
      .destination_index_o,
      .destination_i,
      .room_qp_o            (room_qp),
      .room_wanted_o        (room_wanted),
      .room_i               (room),
      .admit_o              (admit),
      .mtu_index_o          (mtu_index),
      .mtu_log2_i           (mtu_log2),
      .s_axis_frame_tdata,
      .s_axis_frame_tvalid,
      .s_axis_frame_tready,
      .m_axis_bd_tdata      (bd_tdata),
      .m_axis_bd_tvalid     (bd_tvalid),
      .m_axis_bd_tready     (bd_tready),
      .m_axis_trailer_tdata (placed_tdata),
      .m_axis_trailer_tvalid(placed_tvalid),
      .m_axis_trailer_tready(placed_tready),
      .m_axis_over_tdata    (over_tdata),
      .m_axis_over_tvalid   (over_tvalid),
      .m_axis_over_tready   (over_tready),
      .m_axis_count_tdata   (place_count_tdata),
      .m_axis_count_tvalid  (place_count_tvalid),
      .m_axis_count_tready  (place_count_tready),
      .refusal_o,
      .refusal_valid_o,
      .frame_o,
      .ignored_o,
      .idle_o               (bd_gen_idle)
  );

  tx_payload #(
      .DataW(DataW),
      .Depth(ReadDepth),
      .Beats(ReadBeats),
      .MaxBurst(MaxBurst)
  ) u_payload (
      .clk,
      .rst(rst[1]),
      .s_axis_item_tdata    (issue_tdata),
      .s_axis_item_tvalid   (issue_tvalid),
      .s_axis_item_tready   (issue_tready),
      .s_axis_trailer_tdata (trailer_tdata),
      .s_axis_trailer_tvalid(trailer_tvalid),
      .s_axis_trailer_tready(trailer_tready),
      .m_axi_o,
      .m_axi_i,
      .m_axi_rdata,
      .read_error_o,
      .m_axis_item_tdata    (item_tdata),
      .m_axis_item_tvalid   (item_tvalid),
      .m_axis_item_tready   (item_tready),
      .m_axis_msg_tdata     (msg_tdata),
      .m_axis_msg_tvalid    (msg_tvalid),
      .m_axis_msg_tready    (msg_tready),
      .m_axis_payload_tdata (payload_tdata),
      .m_axis_payload_tkeep (payload_tkeep),
      .m_axis_payload_tlast (payload_tlast),
      .m_axis_payload_tuser (payload_tuser),
      .m_axis_payload_tvalid(payload_tvalid),
      .m_axis_payload_tready(payload_tready)
  );

  roce_tx #(
      .DataW(DataW),
      .NumQp(NumQp)
  ) u_roce_tx (
      .clk,
      .rst(rst[2]),
      .local_mac_i,
      .local_ip_i,
      .s_axis_qp_tdata,
      .s_axis_qp_tvalid,
      .s_axis_qp_tready,
      .spend_o              (spend),
      .spend_index_o        (spend_index),
      .spend_bytes_o        (spend_bytes),
      .s_axis_rate_index    (rate_index),
      .s_axis_rate_tdata    (rate_tdata),
      .s_axis_rate_tvalid   (rate_tvalid),
      .s_axis_rate_tready   (rate_tready),
      .default_burst_i      (Rc ? rc_control_i.dcqcn_burst : '0),
      .pace_all_i           (Rc && rc_control_i.dcqcn.enabled),
      .mtu_index_i          (mtu_index),
      .mtu_log2_o           (mtu_log2),
      .s_axis_msg_tdata     (msg_tdata),
      .s_axis_msg_tvalid    (msg_tvalid),
      .s_axis_msg_tready    (msg_tready),
      .s_axis_payload_tdata (payload_tdata),
      .s_axis_payload_tkeep (payload_tkeep),
      .s_axis_payload_tlast (payload_tlast),
      .s_axis_payload_tuser (payload_tuser),
      .s_axis_payload_tvalid(payload_tvalid),
      .s_axis_payload_tready(payload_tready),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tvalid,
      .m_axis_tready,
      .status_valid_o,
      .status_o,
      .status_qp_o          (status_qp),
      .errors_o             (unused_errors),
      .in_line_o            (in_line),
      .idle_o               (roce_idle)
  );

  if (Rc) begin : gen_rc
    logic left_q;  // a packet has left, a cycle ago: whoever takes packets says so late

    always_ff @(posedge clk) left_q <= m_axis_tvalid && m_axis_tready && m_axis_tlast;

    tx_rc #(
        .DataW  (DataW),
        .NumQp  (NumQp),
        .RcQps  (RcQps),
        .RcDepth(RcDepth),
        .RcAhead(RcAhead),
        .MaxSlots(MaxSlots),
        .ClockHz(ClockHz)
    ) u_rc (
        .clk,
        .rst(rst[CORE_RESETS-1:CORE_RESETS-RC_RESETS]),
        .control_i            (rc_control_i),
        .report_o             (rc_report_o),
        .qp_write_i           (s_axis_qp_tdata),
        .qp_write_valid_i     (s_axis_qp_tvalid && s_axis_qp_tready),
        .s_axis_bd_tdata      (bd_tdata),
        .s_axis_bd_tvalid     (bd_tvalid),
        .s_axis_bd_tready     (bd_tready),
        .s_axis_trailer_tdata (placed_tdata),
        .s_axis_trailer_tvalid(placed_tvalid),
        .s_axis_trailer_tready(placed_tready),
        .s_axis_over_tdata    (over_tdata),
        .s_axis_over_tvalid   (over_tvalid),
        .s_axis_over_tready   (over_tready),
        .room_qp_i            (room_qp),
        .room_wanted_i        (room_wanted),
        .room_o               (room),
        .admit_i              (admit),
        .m_axis_item_tdata    (issue_tdata),
        .m_axis_item_tvalid   (issue_tvalid),
        .m_axis_item_tready   (issue_tready),
        .m_axis_trailer_tdata (trailer_tdata),
        .m_axis_trailer_tvalid(trailer_tvalid),
        .m_axis_trailer_tready(trailer_tready),
        .s_axis_item_tdata    (item_tdata),
        .s_axis_item_tvalid   (item_tvalid),
        .s_axis_item_tready   (item_tready),
        .beat_i               (payload_tvalid && payload_tready),
        .ended_i              (status_valid_o),
        .failed_i             (status_o != OK),
        .ended_qp_i           (status_qp),
        .in_line_i            (in_line),
        .left_i               (left_q),
        .m_axis_count_tdata   (ledger_count_tdata),
        .m_axis_count_tvalid  (ledger_count_tvalid),
        .m_axis_count_tready  (ledger_count_tready),
        .release_o,
        .s_axis_roce_tdata,
        .s_axis_roce_tkeep,
        .s_axis_roce_tlast,
        .s_axis_roce_tvalid,
        .s_axis_roce_tready,
        .spend_i              (spend),
        .spend_index_i        (spend_index),
        .spend_bytes_i        (spend_bytes),
        .m_axis_rate_index    (rate_index),
        .m_axis_rate_tdata    (rate_tdata),
        .m_axis_rate_tvalid   (rate_tvalid),
        .m_axis_rate_tready   (rate_tready),
        .m_axis_cnp_tdata,
        .m_axis_cnp_tvalid,
        .m_axis_cnp_tready,
        .pulses_o             (rc_pulses_o),
        .idle_o               (ledger_idle)
    );
  end else begin : gen_no_rc
    assign issue_tdata = '{tag: '0, rc: 1'b0, resume: 1'b0, psn: '0, bd: bd_tdata};
    assign issue_tvalid = bd_tvalid;
    assign bd_tready = issue_tready;
    assign trailer_tdata = placed_tdata;
    assign trailer_tvalid = placed_tvalid;
    assign placed_tready = trailer_tready;
    assign room = 1'b1;
    assign rc_report_o = '{command_ready: 1'b1, command_refused: 1'b0, status: '0};
    assign rc_pulses_o = '0;
    assign s_axis_roce_tready = 1'b1;
    assign m_axis_cnp_tdata = '0;
    assign m_axis_cnp_tvalid = 1'b0;
    assign rate_index = '0;
    assign rate_tdata = '0;
    assign rate_tvalid = 1'b0;

    frame_ledger u_ledger (
        .clk,
        .rst(rst[1]),
        .s_axis_bd_tdata    (item_tdata.bd),
        .s_axis_bd_tvalid   (item_tvalid),
        .s_axis_bd_tready   (item_tready),
        .s_axis_over_tdata  (over_tdata),
        .s_axis_over_tvalid (over_tvalid),
        .s_axis_over_tready (over_tready),
        .ended_i            (status_valid_o),
        .failed_i           (status_o != OK),
        .m_axis_count_tdata (ledger_count_tdata),
        .m_axis_count_tvalid(ledger_count_tvalid),
        .m_axis_count_tready(ledger_count_tready),
        .release_o,
        .idle_o             (ledger_idle)
    );

    logic unused;
    assign unused = ^{item_tdata, room_qp, room_wanted, admit, rc_control_i, m_axis_cnp_tready, rate_tready, spend,
                      spend_index, spend_bytes, status_qp, in_line, s_axis_roce_tdata, s_axis_roce_tkeep,
                      s_axis_roce_tlast, s_axis_roce_tvalid, rst[CORE_RESETS-1:CORE_RESETS-RC_RESETS]};
  end

  logic [15:0] messages_q;  // descriptors of which the message has not ended

  always_ff @(posedge clk) begin
    messages_q <= messages_q + 16'(issue_tvalid && issue_tready) - 16'(status_valid_o);
    if (rst[1]) messages_q <= '0;
  end

  assign idle_o = bd_gen_idle && messages_q == '0 && ledger_idle && !m_axis_count_tvalid && roce_idle;

endmodule
