// What is sent, with its bytes: of each item the message for roce_tx, and its payload from memory or from its trailer. Wiring only.
//
//   items -> axis_fork -> messages
//                |------> mm2s ------.
//                |------------------ axis_select -> payload
//                |      trailer -----'
//                '------> items, for the ledger
module tx_payload
  import axi_pkg::*;
  import framelane_pkg::*;
  import rc_pkg::*;
  import roce_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned Depth = 64,  // transfers that the memory reader runs ahead
    parameter int unsigned Beats = 512,  // for which it has room
    parameter int unsigned MaxBurst = 256,  // beats of its longest burst

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // What is sent, and the trailers of those that end a frame, in their order
    input  rc_item_t s_axis_item_tdata,
    input  logic     s_axis_item_tvalid,
    output logic     s_axis_item_tready,
    input  trailer_t s_axis_trailer_tdata,
    input  logic     s_axis_trailer_tvalid,
    output logic     s_axis_trailer_tready,

    // AXI4 read master: the frame memory
    output axi_read_request_t              m_axi_o,
    input  axi_read_response_t             m_axi_i,
    input  logic               [DataW-1:0] m_axi_rdata,
    output logic                           read_error_o,  // pulse: a beat came with an error

    // The same items, as they are handed out
    output rc_item_t m_axis_item_tdata,
    output logic     m_axis_item_tvalid,
    input  logic     m_axis_item_tready,

    output message_t             m_axis_msg_tdata,
    output logic                 m_axis_msg_tvalid,
    input  logic                 m_axis_msg_tready,
    output logic     [DataW-1:0] m_axis_payload_tdata,
    output logic     [KeepW-1:0] m_axis_payload_tkeep,
    output logic                 m_axis_payload_tlast,
    output logic                 m_axis_payload_tuser,   // the beat came with an error
    output logic                 m_axis_payload_tvalid,
    input  logic                 m_axis_payload_tready
);

  // Sinks of every item, in the order of axis_fork's mask
  localparam int unsigned TO_MESSAGE = 0;
  localparam int unsigned TO_SELECT = 1;
  localparam int unsigned TO_LEDGER = 2;
  localparam int unsigned TO_READ = 3;
  localparam int unsigned SINKS = 4;

  // Sources of payload, as axis_select numbers them
  localparam int unsigned FROM_MEMORY = 0;
  localparam int unsigned FROM_TRAILER = 1;
  localparam int unsigned SOURCES = 2;

  rc_item_t item;
  logic [SINKS-1:0] mask, item_tvalid, item_tready;

  always_comb begin
    mask = '0;
    mask[TO_MESSAGE] = 1'b1;
    mask[TO_SELECT] = 1'b1;
    mask[TO_LEDGER] = 1'b1;
    mask[TO_READ] = !s_axis_item_tdata.bd.last;
  end

  axis_fork #(
      .DataW($bits(rc_item_t)),
      .Sinks(SINKS)
  ) u_fork (
      .clk,
      .rst,
      .s_axis_tdata (s_axis_item_tdata),
      .s_axis_tuser (mask),
      .s_axis_tvalid(s_axis_item_tvalid),
      .s_axis_tready(s_axis_item_tready),
      .m_axis_tdata (item),
      .m_axis_tvalid(item_tvalid),
      .m_axis_tready(item_tready)
  );

  assign m_axis_item_tdata = item;
  assign m_axis_item_tvalid = item_tvalid[TO_LEDGER];
  assign item_tready[TO_LEDGER] = m_axis_item_tready;

  logic [SOURCES-1:0][DataW-1:0] source_tdata;
  logic [SOURCES-1:0][KeepW-1:0] source_tkeep;
  logic [SOURCES-1:0] source_tlast, source_tuser, source_tvalid, source_tready;

  assign source_tuser[FROM_TRAILER] = 1'b0;

  mm2s #(
      .DataW(DataW),
      .Depth(Depth),
      .Beats(Beats),
      .MaxBurst(MaxBurst)
  ) u_mm2s (
      .clk,
      .rst,
      .s_axis_cmd_tdata ('{length: item.bd.length, address: item.bd.source}),
      .s_axis_cmd_tvalid(item_tvalid[TO_READ]),
      .s_axis_cmd_tready(item_tready[TO_READ]),
      .m_axis_tdata     (source_tdata[FROM_MEMORY]),
      .m_axis_tkeep     (source_tkeep[FROM_MEMORY]),
      .m_axis_tlast     (source_tlast[FROM_MEMORY]),
      .m_axis_tuser     (source_tuser[FROM_MEMORY]),
      .m_axis_tvalid    (source_tvalid[FROM_MEMORY]),
      .m_axis_tready    (source_tready[FROM_MEMORY]),
      .m_axi_o,
      .m_axi_i,
      .m_axi_rdata,
      .read_error_o
  );

  trailer #(
      .DataW(DataW)
  ) u_trailer (
      .clk,
      .rst,
      .s_axis_trailer_tdata,
      .s_axis_trailer_tvalid,
      .s_axis_trailer_tready,
      .m_axis_tdata         (source_tdata[FROM_TRAILER]),
      .m_axis_tkeep         (source_tkeep[FROM_TRAILER]),
      .m_axis_tlast         (source_tlast[FROM_TRAILER]),
      .m_axis_tvalid        (source_tvalid[FROM_TRAILER]),
      .m_axis_tready        (source_tready[FROM_TRAILER])
  );

  logic sel_tdata, sel_tvalid, sel_tready;

  axis_fifo #(
      .DataW(1),
      .Depth(Depth)
  ) u_order (
      .clk,
      .rst,
      .s_axis_tdata (item.bd.last),
      .s_axis_tvalid(item_tvalid[TO_SELECT]),
      .s_axis_tready(item_tready[TO_SELECT]),
      .m_axis_tdata (sel_tdata),
      .m_axis_tvalid(sel_tvalid),
      .m_axis_tready(sel_tready)
  );

  axis_select #(
      .DataW  (DataW),
      .Sources(SOURCES)
  ) u_select (
      .clk,
      .rst,
      .s_axis_sel_tdata (sel_tdata),
      .s_axis_sel_tvalid(sel_tvalid),
      .s_axis_sel_tready(sel_tready),
      .s_axis_tdata     (source_tdata),
      .s_axis_tkeep     (source_tkeep),
      .s_axis_tlast     (source_tlast),
      .s_axis_tuser     (source_tuser),
      .s_axis_tvalid    (source_tvalid),
      .s_axis_tready    (source_tready),
      .m_axis_tdata     (m_axis_payload_tdata),
      .m_axis_tkeep     (m_axis_payload_tkeep),
      .m_axis_tlast     (m_axis_payload_tlast),
      .m_axis_tuser     (m_axis_payload_tuser),
      .m_axis_tvalid    (m_axis_payload_tvalid),
      .m_axis_tready    (m_axis_payload_tready)
  );

  message_t msg_tdata, waiting_tdata;
  logic waiting_tvalid, waiting_tready;

  assign msg_tdata = '{
          replay: item.rc,
          resume: item.resume,
          psn: item.psn,
          imm_valid: item.bd.last,
          imm: item.bd.imm,
          qp: item.bd.qp,
          length: item.bd.length,
          address: item.bd.destination
      };

  // Messages wait here while the payload of earlier ones passes, so that the memory reader can run ahead.
  axis_fifo #(
      .DataW($bits(message_t)),
      .Depth(Depth)
  ) u_messages (
      .clk,
      .rst,
      .s_axis_tdata (msg_tdata),
      .s_axis_tvalid(item_tvalid[TO_MESSAGE]),
      .s_axis_tready(item_tready[TO_MESSAGE]),
      .m_axis_tdata (waiting_tdata),
      .m_axis_tvalid(waiting_tvalid),
      .m_axis_tready(waiting_tready)
  );

  // roce_tx looks up the QP of a message in the cycle in which it comes, which leaves no time to read a memory in front.
  axis_reg #(
      .DataW($bits(message_t))
  ) u_message (
      .clk,
      .rst,
      .s_axis_tdata (waiting_tdata),
      .s_axis_tvalid(waiting_tvalid),
      .s_axis_tready(waiting_tready),
      .m_axis_tdata (m_axis_msg_tdata),
      .m_axis_tvalid(m_axis_msg_tvalid),
      .m_axis_tready(m_axis_msg_tready)
  );

endmodule
