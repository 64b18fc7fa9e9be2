// Frames over PCIe: their descriptors and payload to TLPs, and an event behind each frame.
//
//   descriptors, payload -> event_queue -> pcie_wr -> TLPs
//                                ^------------' ends of descriptors
module pcie_engine
  import pcie_pkg::*;
  import framelane_pkg::bd_t;
#(
    parameter int unsigned DataW   = 512,
    parameter int unsigned Entries = 8192,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned DwordsW = DataW / 32,
    localparam int unsigned IndexW = $clog2(Entries)
) (
    input logic clk,
    input logic rst,

    // As those of pcie_wr
    input mps_e              mps_i,
    input logic [     4:0]   page_log2_i,
    input logic [IndexW:0]   pages_i,
    input logic              map_write_i,
    input logic [IndexW-1:0] map_index_i,
    input entry_t            map_entry_i,

    // As those of event_queue
    input  logic        event_enabled_i,
    input  logic [63:0] event_base_i,
    input  logic [ 4:0] event_log2_i,
    input  logic [31:0] event_consumed_i,
    output logic [31:0] event_produced_o,
    input  logic        fence_i,
    input  logic [23:0] fence_limit_i,
    input  logic        completion_i,
    input  logic [ 4:0] completion_tag_i,
    input  logic        completion_bad_i,

    input logic failed_i,  // TLPs go nowhere: what ends well otherwise ends with LINK_DOWN

    // Descriptors, whose destinations are offsets in the ring, and payload, one packet each; `last` has the trailer. Those of frames and of packets
    // may come mixed: the lowest bit of `qp` is 1 for packets
    input  bd_t  s_axis_bd_tdata,
    input  logic s_axis_bd_tvalid,
    output logic s_axis_bd_tready,

    input  logic [DataW-1:0] s_axis_payload_tdata,
    input  logic [KeepW-1:0] s_axis_payload_tkeep,
    input  logic             s_axis_payload_tlast,
    input  logic             s_axis_payload_tuser,
    input  logic             s_axis_payload_tvalid,
    output logic             s_axis_payload_tready,

    output logic      [  DataW-1:0] m_axis_tlp_tdata,
    output logic      [DwordsW-1:0] m_axis_tlp_tkeep,
    output logic                    m_axis_tlp_tlast,
    output tlp_user_t               m_axis_tlp_tuser,
    output logic                    m_axis_tlp_tvalid,
    input  logic                    m_axis_tlp_tready,

    // One pulse a descriptor, in their order; pulses of events
    output logic    status_valid_o,
    output status_e status_o,
    output logic    status_stream_o,  // it is a packet's
    output logic    event_o,
    output logic    event_written_o,
    output logic    event_lost_o,
    output logic    unanswered_o,
    output logic    refused_o,
    output logic    unexpected_o,
    output logic    idle_o
);

  bd_t bd_tdata;
  fence_t bd_tuser;
  logic bd_tvalid, bd_tready, payload_tlast, payload_tuser, payload_tvalid, payload_tready, ended_valid;
  logic [DataW-1:0] payload_tdata;
  logic [KeepW-1:0] payload_tkeep;
  status_e written, ended;

  assign ended = failed_i && written == OK ? LINK_DOWN : written;

  event_queue #(
      .DataW(DataW)
  ) u_events (
      .clk,
      .rst,
      .enabled_i            (event_enabled_i),
      .base_i               (event_base_i),
      .log2_i               (event_log2_i),
      .consumed_i           (event_consumed_i),
      .produced_o           (event_produced_o),
      .fence_i,
      .fence_limit_i,
      .completion_i,
      .completion_tag_i,
      .completion_bad_i,
      .s_axis_bd_tdata,
      .s_axis_bd_tvalid,
      .s_axis_bd_tready,
      .s_axis_payload_tdata,
      .s_axis_payload_tkeep,
      .s_axis_payload_tlast,
      .s_axis_payload_tuser,
      .s_axis_payload_tvalid,
      .s_axis_payload_tready,
      .m_axis_bd_tdata      (bd_tdata),
      .m_axis_bd_tuser      (bd_tuser),
      .m_axis_bd_tvalid     (bd_tvalid),
      .m_axis_bd_tready     (bd_tready),
      .m_axis_payload_tdata (payload_tdata),
      .m_axis_payload_tkeep (payload_tkeep),
      .m_axis_payload_tlast (payload_tlast),
      .m_axis_payload_tuser (payload_tuser),
      .m_axis_payload_tvalid(payload_tvalid),
      .m_axis_payload_tready(payload_tready),
      .status_valid_i       (ended_valid),
      .status_i             (ended),
      .status_valid_o,
      .status_o,
      .status_stream_o,
      .event_o,
      .written_o            (event_written_o),
      .lost_o               (event_lost_o),
      .unanswered_o,
      .refused_o,
      .unexpected_o,
      .idle_o
  );

  pcie_wr #(
      .DataW  (DataW),
      .Entries(Entries)
  ) u_wr (
      .clk,
      .rst,
      .mps_i,
      .page_log2_i,
      .pages_i,
      .map_write_i,
      .map_index_i,
      .map_entry_i,
      .s_axis_bd_tdata      (bd_tdata),
      .s_axis_bd_tuser      (bd_tuser),
      .s_axis_bd_tvalid     (bd_tvalid),
      .s_axis_bd_tready     (bd_tready),
      .s_axis_payload_tdata (payload_tdata),
      .s_axis_payload_tkeep (payload_tkeep),
      .s_axis_payload_tlast (payload_tlast),
      .s_axis_payload_tuser (payload_tuser),
      .s_axis_payload_tvalid(payload_tvalid),
      .s_axis_payload_tready(payload_tready),
      .m_axis_tlp_tdata,
      .m_axis_tlp_tkeep,
      .m_axis_tlp_tlast,
      .m_axis_tlp_tuser,
      .m_axis_tlp_tvalid,
      .m_axis_tlp_tready,
      .status_valid_o       (ended_valid),
      .status_o             (written)
  );

endmodule
