// The transmitter over PCIe without its registers: what a reset of the core restarts. Wiring only.
//
//   frames -> bd_gen -> pcie_route -> pcie_lane, one for each engine -> TLPs
module pcie_core
  import axi_pkg::*;
  import framelane_pkg::*;
  import pcie_counters_pkg::*;
  import pcie_pkg::*;
#(
    parameter int unsigned DataW        = 512,
    parameter int unsigned Engines      = 2,    // 1 or 2
    parameter int unsigned Entries      = 8192,
    parameter int unsigned Flows        = 4,
    parameter int unsigned Destinations = 16,
    parameter int unsigned ReadDepth    = 64,
    parameter int unsigned ReadBeats    = 512,
    parameter int unsigned MaxBurst     = 256,
    parameter int unsigned PacketBeats  = 0,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned DwordsW = DataW / 32
) (
    input logic               clk,
    input logic [Engines+1:0] rst,      // always equal: for bd_gen, for what is between, for each engine
    input logic               port_rst, // of the ports of TLPs, which a reset of the core leaves alone

    // The registers
    input  logic                        armed_i,
    input  logic                        aborting_i,
    input  logic                        resetting_i,
    input  pcie_control_t [Engines-1:0] control_i,
    output pcie_report_t  [Engines-1:0] report_o,
    output pcie_pulses_t  [Engines-1:0] pulses_o,

    // Tables: the entry that was asked for a cycle before
    output logic         [1:0][7:0] flow_index_o,
    input  flow_t                   flow_i,
    output logic              [7:0] destination_index_o,
    input  destination_t            destination_i,

    // Frames that lie complete in memory, with rising numbers. Each is released once, in order: its memory is free again
    input  frame_t s_axis_frame_tdata,
    input  logic   s_axis_frame_tvalid,
    output logic   s_axis_frame_tready,
    output logic   release_o,            // pulse

    // Packets for posted buffers, for each engine
    input logic [Engines-1:0][DataW-1:0] s_axis_packet_tdata,
    input logic [Engines-1:0][KeepW-1:0] s_axis_packet_tkeep,
    input logic [Engines-1:0]            s_axis_packet_tlast,
    input logic [Engines-1:0]            s_axis_packet_tuser,
    input logic [Engines-1:0]            s_axis_packet_tvalid,
    input logic [       63:0]            packet_time_ns_i,

    // AXI4 read masters: the frame memory
    output axi_read_request_t  [Engines-1:0]            m_axi_o,
    input  axi_read_response_t [Engines-1:0]            m_axi_i,
    input  logic               [Engines-1:0][DataW-1:0] m_axi_rdata,
    output logic               [Engines-1:0]            read_error_o,

    // The endpoints
    input logic [Engines-1:0]      link_up_i,
    input mps_e [Engines-1:0]      mps_i,
    input logic [Engines-1:0]      completion_i,
    input logic [Engines-1:0][4:0] completion_tag_i,
    input logic [Engines-1:0]      completion_bad_i,

    output logic      [Engines-1:0][  DataW-1:0] m_axis_tlp_tdata,
    output logic      [Engines-1:0][DwordsW-1:0] m_axis_tlp_tkeep,
    output logic      [Engines-1:0]              m_axis_tlp_tlast,
    output tlp_user_t [Engines-1:0]              m_axis_tlp_tuser,
    output logic      [Engines-1:0]              m_axis_tlp_tvalid,
    input  logic      [Engines-1:0]              m_axis_tlp_tready,

    // For the counters: amounts, events
    output count_t   m_axis_count_tdata,
    output logic     m_axis_count_tvalid,
    input  logic     m_axis_count_tready,
    output refusal_t refusal_o,
    output logic     refusal_valid_o,      // pulse
    output logic     frame_o,              // pulse: a frame came while armed
    output logic     ignored_o,            // pulse: while not armed

    output logic idle_o  // nothing is under way
);

  logic gen_idle, route_idle;
  logic [Engines-1:0] lane_idle, releases;
  logic [7:0] mtu_index;
  logic [3:0] mtu_log2;
  bd_t bd_tdata;
  trailer_t trailer_tdata;
  logic [15:0] over_tdata;
  logic bd_tvalid, bd_tready, trailer_tvalid, trailer_tready, over_tvalid, over_tready;
  bd_t [Engines-1:0] lane_bd_tdata;
  trailer_t [Engines-1:0] lane_trailer_tdata;
  logic [Engines-1:0][15:0] lane_over_tdata;
  logic [Engines-1:0] lane_bd_tvalid, lane_bd_tready, lane_trailer_tvalid, lane_trailer_tready;
  logic [Engines-1:0] lane_over_tvalid, lane_over_tready;

  // Counters of destinations: those of bd_gen, then of each engine.
  count_t [Engines:0] counts_tdata;
  logic [Engines:0] counts_tvalid, counts_tready;

  bd_gen #(
      .Flows       (Flows),
      .Destinations(Destinations),
      .TimeFlags   (1'b1)
  ) u_bd_gen (
      .clk,
      .rst                  (rst[0]),
      .armed_i              (armed_i),
      .flow_index_o,
      .flow_i,
      .destination_index_o,
      .destination_i,
      .room_qp_o            (),
      .room_wanted_o        (),
      .room_i               (1'b1),
      .admit_o              (),
      .mtu_index_o          (mtu_index),
      .mtu_log2_i           (mtu_log2),
      .s_axis_frame_tdata,
      .s_axis_frame_tvalid,
      .s_axis_frame_tready,
      .m_axis_bd_tdata      (bd_tdata),
      .m_axis_bd_tvalid     (bd_tvalid),
      .m_axis_bd_tready     (bd_tready),
      .m_axis_trailer_tdata (trailer_tdata),
      .m_axis_trailer_tvalid(trailer_tvalid),
      .m_axis_trailer_tready(trailer_tready),
      .m_axis_over_tdata    (over_tdata),
      .m_axis_over_tvalid   (over_tvalid),
      .m_axis_over_tready   (over_tready),
      .m_axis_count_tdata   (counts_tdata[Engines]),
      .m_axis_count_tvalid  (counts_tvalid[Engines]),
      .m_axis_count_tready  (counts_tready[Engines]),
      .refusal_o,
      .refusal_valid_o,
      .frame_o,
      .ignored_o,
      .idle_o               (gen_idle)
  );

  // Packets in a trailer are of Max_Payload_Size.
  assign mtu_log2 = 4'd7 + 4'(report_o[Engines > 1 && mtu_index[0]].mps);

  pcie_route #(
      .Engines(Engines),
      .Depth  (ReadDepth)
  ) u_route (
      .clk,
      .rst(rst[1]),
      .s_axis_bd_tdata      (bd_tdata),
      .s_axis_bd_tvalid     (bd_tvalid),
      .s_axis_bd_tready     (bd_tready),
      .s_axis_trailer_tdata (trailer_tdata),
      .s_axis_trailer_tvalid(trailer_tvalid),
      .s_axis_trailer_tready(trailer_tready),
      .s_axis_over_tdata    (over_tdata),
      .s_axis_over_tvalid   (over_tvalid),
      .s_axis_over_tready   (over_tready),
      .m_axis_bd_tdata      (lane_bd_tdata),
      .m_axis_bd_tvalid     (lane_bd_tvalid),
      .m_axis_bd_tready     (lane_bd_tready),
      .m_axis_trailer_tdata (lane_trailer_tdata),
      .m_axis_trailer_tvalid(lane_trailer_tvalid),
      .m_axis_trailer_tready(lane_trailer_tready),
      .m_axis_over_tdata    (lane_over_tdata),
      .m_axis_over_tvalid   (lane_over_tvalid),
      .m_axis_over_tready   (lane_over_tready),
      .release_i            (releases),
      .release_o,
      .idle_o               (route_idle)
  );

  count_t [Engines:0] merged_tdata;
  logic [Engines:0] merged_tvalid, merged_tready;

  assign merged_tdata[Engines] = counts_tdata[Engines];
  assign merged_tvalid[Engines] = counts_tvalid[Engines];
  assign counts_tready[Engines] = merged_tready[Engines];
  assign m_axis_count_tdata = merged_tdata[0];
  assign m_axis_count_tvalid = merged_tvalid[0];
  assign merged_tready[0] = m_axis_count_tready;

  for (genvar e = 0; e < Engines; e++) begin : gen_engine
    pcie_lane #(
        .DataW      (DataW),
        .Entries    (Entries),
        .ReadDepth  (ReadDepth),
        .ReadBeats  (ReadBeats),
        .MaxBurst   (MaxBurst),
        .PacketBeats(PacketBeats)
    ) u_lane (
        .clk,
        .rst                  (rst[2+e]),
        .port_rst,
        .control_i            (control_i[e]),
        .report_o             (report_o[e]),
        .pulses_o             (pulses_o[e]),
        .drain_i              (aborting_i),
        .closed_i             (resetting_i),
        .s_axis_bd_tdata      (lane_bd_tdata[e]),
        .s_axis_bd_tvalid     (lane_bd_tvalid[e]),
        .s_axis_bd_tready     (lane_bd_tready[e]),
        .s_axis_trailer_tdata (lane_trailer_tdata[e]),
        .s_axis_trailer_tvalid(lane_trailer_tvalid[e]),
        .s_axis_trailer_tready(lane_trailer_tready[e]),
        .s_axis_over_tdata    (lane_over_tdata[e]),
        .s_axis_over_tvalid   (lane_over_tvalid[e]),
        .s_axis_over_tready   (lane_over_tready[e]),
        .release_o            (releases[e]),
        .s_axis_packet_tdata  (s_axis_packet_tdata[e]),
        .s_axis_packet_tkeep  (s_axis_packet_tkeep[e]),
        .s_axis_packet_tlast  (s_axis_packet_tlast[e]),
        .s_axis_packet_tuser  (s_axis_packet_tuser[e]),
        .s_axis_packet_tvalid (s_axis_packet_tvalid[e]),
        .packet_time_ns_i,
        .m_axis_count_tdata   (counts_tdata[e]),
        .m_axis_count_tvalid  (counts_tvalid[e]),
        .m_axis_count_tready  (counts_tready[e]),
        .m_axi_o              (m_axi_o[e]),
        .m_axi_i              (m_axi_i[e]),
        .m_axi_rdata          (m_axi_rdata[e]),
        .read_error_o         (read_error_o[e]),
        .link_up_i            (link_up_i[e]),
        .mps_i                (mps_i[e]),
        .completion_i         (completion_i[e]),
        .completion_tag_i     (completion_tag_i[e]),
        .completion_bad_i     (completion_bad_i[e]),
        .m_axis_tlp_tdata     (m_axis_tlp_tdata[e]),
        .m_axis_tlp_tkeep     (m_axis_tlp_tkeep[e]),
        .m_axis_tlp_tlast     (m_axis_tlp_tlast[e]),
        .m_axis_tlp_tuser     (m_axis_tlp_tuser[e]),
        .m_axis_tlp_tvalid    (m_axis_tlp_tvalid[e]),
        .m_axis_tlp_tready    (m_axis_tlp_tready[e]),
        .status_valid_o       (),
        .status_o             (),
        .idle_o               (lane_idle[e])
    );

    axis_merge #(
        .DataW($bits(count_t))
    ) u_counts (
        .clk,
        .rst            (rst[1]),
        .s_axis_a_tdata (merged_tdata[e+1]),
        .s_axis_a_tvalid(merged_tvalid[e+1]),
        .s_axis_a_tready(merged_tready[e+1]),
        .s_axis_b_tdata (counts_tdata[e]),
        .s_axis_b_tvalid(counts_tvalid[e]),
        .s_axis_b_tready(counts_tready[e]),
        .m_axis_tdata   (merged_tdata[e]),
        .m_axis_tvalid  (merged_tvalid[e]),
        .m_axis_tready  (merged_tready[e])
    );
  end

  assign idle_o = gen_idle && route_idle && lane_idle == '1 && merged_tvalid == '0;

  logic unused;
  assign unused = ^mtu_index;

endmodule
