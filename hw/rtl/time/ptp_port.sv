// Messages of PTP at a MAC, each with the time of its first beat there: those that come, and those that software sends, one at a time.
//
//   the MAC's packets -> ptp_tap -> received, with stamp
//   words -> ptp_send -> a packet ...  the packets to the MAC -> ptp_tap -> its stamp
//
// Of the packets to the MAC none carries PTP but what is sent here.
module ptp_port
  import time_pkg::*;
#(
    parameter int unsigned DataW    = 512,
    parameter int unsigned MacW     = 512,
    parameter int unsigned QueueLog = 3,           // 2^this less one wait
    parameter int unsigned Patience = 15_625_000,  // cycles for which a stamp is waited for

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned MacKeepW = MacW / 8
) (
    input logic clk,
    input logic rst,

    // The oldest message that came
    input  logic        receive_i,  // 1: they are kept
    input  logic        next_i,     // pulse: it is given back
    input  logic [ 4:0] index_i,
    output logic        valid_o,
    output logic [ 7:0] bytes_o,
    output tai_t        tai_o,
    output logic [31:0] word_o,     // three cycles after its index
    output logic [15:0] lost_o,     // had no room

    // The message to send
    input  logic        write_i,    // the word of index_i
    input  logic [31:0] word_i,
    input  logic        send_i,     // pulse; ignored while sending_o
    input  logic [ 7:0] bytes_i,
    output logic        sending_o,  // it waits to be sent, or to be stamped
    output event_t      sent_o,     // the last one

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
    input logic                tx_tuser_i,
    input logic                tx_taken_i,
    input tai_t                tx_tai_i,

    // Those from it
    input logic                rx_clk,
    input logic                rx_rst,
    input logic [    MacW-1:0] rx_tdata_i,
    input logic [MacKeepW-1:0] rx_tkeep_i,
    input logic                rx_tlast_i,
    input logic                rx_tuser_i,
    input logic                rx_taken_i,
    input tai_t                rx_tai_i
);

  localparam int unsigned WAIT_W = $clog2(Patience + 1);

  logic lost, left, unused_lost;
  logic [7:0] unused_bytes;
  logic [31:0] unused_word;
  tai_t left_tai;

  ptp_tap #(
      .MacW    (MacW),
      .SlotsLog(QueueLog)
  ) u_received (
      .line_clk(rx_clk),
      .line_rst(rx_rst),
      .tdata_i (rx_tdata_i),
      .tkeep_i (rx_tkeep_i),
      .tlast_i (rx_tlast_i),
      .tuser_i (rx_tuser_i),
      .taken_i (rx_taken_i),
      .tai_i   (rx_tai_i),
      .enable_i(receive_i),
      .clk,
      .rst,
      .valid_o,
      .bytes_o,
      .tai_o,
      .index_i,
      .word_o,
      .next_i,
      .lost_o  (lost)
  );

  ptp_send #(
      .DataW(DataW)
  ) u_send (
      .clk,
      .rst,
      .write_i,
      .index_i,
      .word_i,
      .send_i (send_i && !sending_o),
      .bytes_i,
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tvalid,
      .m_axis_tready
  );

  ptp_tap #(
      .MacW    (MacW),
      .SlotsLog(1)
  ) u_sent (
      .line_clk(tx_clk),
      .line_rst(tx_rst),
      .tdata_i (tx_tdata_i),
      .tkeep_i (tx_tkeep_i),
      .tlast_i (tx_tlast_i),
      .tuser_i (tx_tuser_i),
      .taken_i (tx_taken_i),
      .tai_i   (tx_tai_i),
      .enable_i(1'b1),
      .clk,
      .rst,
      .valid_o (left),
      .bytes_o (unused_bytes),
      .tai_o   (left_tai),
      .index_i ('0),
      .word_o  (unused_word),
      .next_i  (left),
      .lost_o  (unused_lost)
  );

  // One that a reset of the MAC's side has lost gets no stamp: it is waited for until that has been long enough.
  logic waits_q;
  logic [WAIT_W-1:0] waited_q;

  assign sending_o = m_axis_tvalid || waits_q;

  always_ff @(posedge clk) begin
    lost_o <= lost_o + 16'(lost);
    waited_q <= m_axis_tvalid ? '0 : waited_q + WAIT_W'(waits_q);
    if (m_axis_tvalid) waits_q <= 1'b1;
    else if (left || waited_q == WAIT_W'(Patience)) waits_q <= 1'b0;
    if (left && waits_q) sent_o <= '{count: sent_o.count + 1'b1, tai: left_tai};
    if (rst) begin
      lost_o  <= '0;
      sent_o  <= '0;
      waits_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^{unused_bytes, unused_word, unused_lost};

endmodule
