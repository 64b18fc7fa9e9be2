// What a station does for its neighbours beside its data: ARP, ICMP echo, pause. Wiring.
//
//   frames -.-> arp -------.
//           |-> icmp_echo -'-> packet_merge -> vlan_insert -> frames
//           '-> pause -> holds
module neighbour
  import neighbour_pkg::*;
  import roce_rx_pkg::*;
(
    input logic clk,
    input logic rst,

    input neighbour_config_t config_i,    // may change at any time
    input logic              link_up_i,   // its rise is announced
    input logic              announce_i,  // pulse: announce the address

    // Frames that are for this station, without VLAN tag and FCS, as rx_path gives them. Those of the class ROCE are left out
    input  logic     [63:0] s_axis_tdata,
    input  logic     [ 7:0] s_axis_tkeep,
    input  logic            s_axis_tlast,
    input  rx_user_t        s_axis_tuser,
    input  logic            s_axis_tvalid,
    output logic            s_axis_tready,  // always high

    // Addresses to be resolved, one at a time; how that ended
    input  resolve_t  s_axis_resolve_tdata,
    input  logic      s_axis_resolve_tvalid,
    output logic      s_axis_resolve_tready,
    output resolved_t m_axis_resolved_tdata,
    output logic      m_axis_resolved_tvalid,
    input  logic      m_axis_resolved_tready,

    // Frames of 60 bytes or more, with VLAN tag 64, without FCS
    output logic [63:0] m_axis_tdata,
    output logic [ 7:0] m_axis_tkeep,
    output logic        m_axis_tlast,
    output logic        m_axis_tvalid,
    input  logic        m_axis_tready,

    // No packet may begin: pause
    output logic hold_data_o,
    output logic hold_control_o,

    output neighbour_events_t        events_o,
    output logic              [47:0] conflict_mac_o  // the last one that used our IP address
);

  // A pulse a millisecond
  logic [23:0] clocks_q;
  logic tick_q;

  always_ff @(posedge clk) begin
    tick_q <= clocks_q == '0;
    clocks_q <= clocks_q == '0 ? config_i.clocks_per_ms - 1'b1 : clocks_q - 1'b1;
    if (rst) begin
      clocks_q <= '0;
      tick_q   <= 1'b0;
    end
  end

  logic present_q, announce_q;

  always_ff @(posedge clk) begin
    present_q  <= link_up_i && config_i.arp_enabled;
    announce_q <= announce_i || (link_up_i && config_i.arp_enabled && !present_q);
    if (rst) begin
      present_q  <= 1'b0;
      announce_q <= 1'b0;
    end
  end

  rx_class_e in_class;
  logic unused_echo_ready, unused_pause_ready;  // always high

  assign in_class = s_axis_tuser.rx_class;

  logic [63:0] arp_tdata, echo_tdata, out_tdata;
  logic [7:0] arp_tkeep, echo_tkeep, out_tkeep;
  logic arp_tlast, arp_tvalid, arp_tready;
  logic echo_tlast, echo_tvalid, echo_tready;
  logic out_tlast, out_tvalid, out_tready, unused_idle;
  tag_t arp_tuser, echo_tuser, out_tuser;

  arp u_arp (
      .clk,
      .rst,
      .enabled_i    (config_i.arp_enabled),
      .local_mac_i  (config_i.mac),
      .local_ip_i   (config_i.ip),
      .tag_i        (config_i.tag),
      .timeout_i    (config_i.timeout_ms),
      .retries_i    (config_i.retries),
      .tick_i       (tick_q),
      .announce_i   (announce_q),
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser (s_axis_tuser.tag),
      .s_axis_tvalid(s_axis_tvalid && in_class == CLASS_ARP),
      .s_axis_tready,
      .s_axis_resolve_tdata,
      .s_axis_resolve_tvalid,
      .s_axis_resolve_tready,
      .m_axis_resolved_tdata,
      .m_axis_resolved_tvalid,
      .m_axis_resolved_tready,
      .m_axis_tdata (arp_tdata),
      .m_axis_tkeep (arp_tkeep),
      .m_axis_tlast (arp_tlast),
      .m_axis_tuser (arp_tuser),
      .m_axis_tvalid(arp_tvalid),
      .m_axis_tready(arp_tready),
      .events_o     (events_o.arp),
      .conflict_mac_o
  );

  icmp_echo u_echo (
      .clk,
      .rst,
      .enabled_i    (config_i.echo_enabled),
      .local_mac_i  (config_i.mac),
      .local_ip_i   (config_i.ip),
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser (s_axis_tuser.tag),
      .s_axis_tvalid(s_axis_tvalid && in_class == CLASS_ICMP),
      .s_axis_tready(unused_echo_ready),
      .m_axis_tdata (echo_tdata),
      .m_axis_tkeep (echo_tkeep),
      .m_axis_tlast (echo_tlast),
      .m_axis_tuser (echo_tuser),
      .m_axis_tvalid(echo_tvalid),
      .m_axis_tready(echo_tready),
      .events_o     (events_o.echo)
  );

  pause u_pause (
      .clk,
      .rst,
      .local_mac_i         (config_i.mac),
      .honoured_i          (config_i.pause_honoured),
      .data_priorities_i   (config_i.data_priorities),
      .control_priorities_i(config_i.control_priorities),
      .quanta_per_clock_i  (config_i.quanta_per_clock),
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tvalid       (s_axis_tvalid && in_class == CLASS_PAUSE),
      .s_axis_tready       (unused_pause_ready),
      .hold_data_o,
      .hold_control_o,
      .events_o            (events_o.pause)
  );

  packet_merge #(
      .DataW       (64),
      .UserW       ($bits(tag_t)),
      .ControlBytes(FRAME_BYTES_MIN)
  ) u_merge (
      .clk,
      .rst,
      .hold_data_i          (1'b0),
      .hold_control_i       (1'b0),
      .s_axis_data_tdata    (echo_tdata),
      .s_axis_data_tkeep    (echo_tkeep),
      .s_axis_data_tlast    (echo_tlast),
      .s_axis_data_tuser    (echo_tuser),
      .s_axis_data_tvalid   (echo_tvalid),
      .s_axis_data_tready   (echo_tready),
      .s_axis_control_tdata (arp_tdata),
      .s_axis_control_tkeep (arp_tkeep),
      .s_axis_control_tlast (arp_tlast),
      .s_axis_control_tuser (arp_tuser),
      .s_axis_control_tvalid(arp_tvalid),
      .s_axis_control_tready(arp_tready),
      .m_axis_tdata         (out_tdata),
      .m_axis_tkeep         (out_tkeep),
      .m_axis_tlast         (out_tlast),
      .m_axis_tuser         (out_tuser),
      .m_axis_tvalid        (out_tvalid),
      .m_axis_tready        (out_tready),
      .idle_o               (unused_idle)
  );

  vlan_insert u_insert (
      .clk,
      .rst,
      .s_axis_tdata (out_tdata),
      .s_axis_tkeep (out_tkeep),
      .s_axis_tlast (out_tlast),
      .s_axis_tuser (out_tuser),
      .s_axis_tvalid(out_tvalid),
      .s_axis_tready(out_tready),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tvalid,
      .m_axis_tready
  );

  logic unused;
  assign unused = ^{unused_echo_ready, unused_pause_ready, unused_idle};

endmodule
