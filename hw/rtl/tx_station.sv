// What stands between the core and the MAC where there is a receive path: RoCEv2 frames for the core, answers to neighbours between
// its packets, pauses. Outlives resets of the core. Wiring only.
//
//   frames from the MAC -> rx_path -.-> RoCEv2 frames
//                                   '-> neighbour -> axis_widen -> packet_merge -> frames to the MAC
//                                                        packets ------^
module tx_station
  import framelane_pkg::*;
  import neighbour_pkg::*;
  import roce_rx_pkg::*;
  import tx_counters_pkg::*;
#(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic [STATION_RESETS-1:0] rst,  // always equal: for the neighbour, and for the rest

    input neighbour_config_t config_i,     // may change at any time
    input logic              link_up_i,
    input logic              announce_i,   // pulse: announce the address
    input logic              resetting_i,  // no pause holds up a reset of the core

    // Addresses to be resolved, one at a time; how that ended, which is always taken
    input  resolve_t  s_axis_resolve_tdata,
    input  logic      s_axis_resolve_tvalid,
    output logic      s_axis_resolve_tready,
    output resolved_t m_axis_resolved_tdata,
    output logic      m_axis_resolved_tvalid,

    // Frames without FCS from the MAC, which cannot wait
    input logic [DataW-1:0] s_axis_rx_tdata,
    input logic [KeepW-1:0] s_axis_rx_tkeep,
    input logic             s_axis_rx_tlast,
    input logic             s_axis_rx_tuser,   // with tlast: wrong FCS, or cut
    input logic             s_axis_rx_tvalid,

    // Those of RoCEv2, without VLAN tag
    output logic [63:0] m_axis_roce_tdata,
    output logic [ 7:0] m_axis_roce_tkeep,
    output logic        m_axis_roce_tlast,
    output logic        m_axis_roce_tvalid,
    input  logic        m_axis_roce_tready,

    // Packets of the core, without gaps inside
    input  logic [DataW-1:0] s_axis_packet_tdata,
    input  logic [KeepW-1:0] s_axis_packet_tkeep,
    input  logic             s_axis_packet_tlast,
    input  logic             s_axis_packet_tvalid,
    output logic             s_axis_packet_tready,

    // Frames without FCS to the MAC
    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    output logic                     held_o,          // packets are held by a pause
    output logic              [47:0] conflict_mac_o,  // the last one that used our IP address
    output neighbour_pulses_t        pulses_o         // for the counters
);

  // Frames for this station
  logic [63:0] in_tdata;
  logic [7:0] in_tkeep;
  logic in_tlast, in_tvalid, in_tready;
  rx_user_t in_tuser;
  logic [RX_DROPS-1:0] dropped;
  neighbour_events_t events;

  logic [63:0] out_tdata;
  logic [7:0] out_tkeep;
  logic out_tlast, out_tvalid, out_tready, neighbour_tready, hold_control, unused_idle;
  logic [DataW-1:0] wide_tdata;
  logic [KeepW-1:0] wide_tkeep;
  logic wide_tlast, wide_tuser, wide_tvalid, wide_tready, unused_tuser;

  rx_path #(
      .DataW(DataW)
  ) u_rx (
      .clk,
      .rst(rst[1]),
      .local_mac_i  (config_i.mac),
      .local_ip_i   (config_i.ip),
      .s_axis_tdata (s_axis_rx_tdata),
      .s_axis_tkeep (s_axis_rx_tkeep),
      .s_axis_tlast (s_axis_rx_tlast),
      .s_axis_tuser (s_axis_rx_tuser),
      .s_axis_tvalid(s_axis_rx_tvalid),
      .m_axis_tdata (in_tdata),
      .m_axis_tkeep (in_tkeep),
      .m_axis_tlast (in_tlast),
      .m_axis_tuser (in_tuser),
      .m_axis_tvalid(in_tvalid),
      .m_axis_tready(in_tready),
      .dropped_o    (dropped)
  );

  assign in_tready = in_tuser.rx_class == CLASS_ROCE ? m_axis_roce_tready : neighbour_tready;
  assign m_axis_roce_tdata = in_tdata;
  assign m_axis_roce_tkeep = in_tkeep;
  assign m_axis_roce_tlast = in_tlast;
  assign m_axis_roce_tvalid = in_tvalid && in_tuser.rx_class == CLASS_ROCE;

  neighbour u_neighbour (
      .clk,
      .rst                   (rst[0]),
      .config_i              (config_i),
      .link_up_i,
      .announce_i            (announce_i),
      .s_axis_tdata          (in_tdata),
      .s_axis_tkeep          (in_tkeep),
      .s_axis_tlast          (in_tlast),
      .s_axis_tuser          (in_tuser),
      .s_axis_tvalid         (in_tvalid),
      .s_axis_tready         (neighbour_tready),
      .s_axis_resolve_tdata,
      .s_axis_resolve_tvalid,
      .s_axis_resolve_tready,
      .m_axis_resolved_tdata,
      .m_axis_resolved_tvalid,
      .m_axis_resolved_tready(1'b1),
      .m_axis_tdata          (out_tdata),
      .m_axis_tkeep          (out_tkeep),
      .m_axis_tlast          (out_tlast),
      .m_axis_tvalid         (out_tvalid),
      .m_axis_tready         (out_tready),
      .hold_data_o           (held_o),
      .hold_control_o        (hold_control),
      .events_o              (events),
      .conflict_mac_o
  );

  axis_widen #(
      .OutW(DataW)
  ) u_widen (
      .clk,
      .rst(rst[1]),
      .s_axis_tdata (out_tdata),
      .s_axis_tkeep (out_tkeep),
      .s_axis_tlast (out_tlast),
      .s_axis_tuser (1'b0),
      .s_axis_tvalid(out_tvalid),
      .s_axis_tready(out_tready),
      .m_axis_tdata (wide_tdata),
      .m_axis_tkeep (wide_tkeep),
      .m_axis_tlast (wide_tlast),
      .m_axis_tuser (wide_tuser),
      .m_axis_tvalid(wide_tvalid),
      .m_axis_tready(wide_tready)
  );

  // No pause holds up a reset.
  packet_merge #(
      .DataW(DataW)
  ) u_merge (
      .clk,
      .rst(rst[1]),
      .hold_data_i          (held_o && !resetting_i),
      .hold_control_i       (hold_control),
      .s_axis_data_tdata    (s_axis_packet_tdata),
      .s_axis_data_tkeep    (s_axis_packet_tkeep),
      .s_axis_data_tlast    (s_axis_packet_tlast),
      .s_axis_data_tuser    (1'b0),
      .s_axis_data_tvalid   (s_axis_packet_tvalid),
      .s_axis_data_tready   (s_axis_packet_tready),
      .s_axis_control_tdata (wide_tdata),
      .s_axis_control_tkeep (wide_tkeep),
      .s_axis_control_tlast (wide_tlast),
      .s_axis_control_tuser (wide_tuser),
      .s_axis_control_tvalid(wide_tvalid),
      .s_axis_control_tready(wide_tready),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser         (unused_tuser),
      .m_axis_tvalid,
      .m_axis_tready,
      .idle_o               (unused_idle)
  );

  assign pulses_o = '{
          pause_global: events.pause.pause,
          pause_priority: events.pause.priority_pause,
          pause_malformed: events.pause.malformed,
          pause_held: events.pause.held,
          echo_answered: events.echo.answered,
          echo_busy: events.echo.busy,
          echo_ignored: events.echo.ignored,
          echo_malformed: events.echo.malformed,
          echo_checksum: events.echo.checksum,
          arp_answered: events.arp.answered,
          arp_lost: events.arp.lost,
          arp_resolved: events.arp.resolved,
          arp_unresolved: events.arp.unresolved,
          arp_conflict: events.arp.conflict,
          arp_stray: events.arp.stray,
          arp_malformed: events.arp.malformed,
          rx_bad: dropped[DROP_BAD],
          rx_short: dropped[DROP_SHORT],
          rx_address: dropped[DROP_ADDRESS],
          rx_type: dropped[DROP_TYPE],
          rx_options: dropped[DROP_OPTIONS],
          rx_fragment: dropped[DROP_FRAGMENT],
          rx_length: dropped[DROP_LENGTH],
          rx_ip: dropped[DROP_IP],
          rx_protocol: dropped[DROP_PROTOCOL],
          rx_port: dropped[DROP_PORT],
          rx_full: dropped[DROP_FULL]
      };

endmodule
