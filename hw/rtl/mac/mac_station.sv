// A MAC of which only packets for the core are wanted, with a station of its own: they come whole, and ARP and ping are answered where they
// came. Wiring only. A packet that has no room is lost whole.
//
//   from the MAC -.-> mac_rx -> core
//                 '-> tx_station -> mac_tx -> to the MAC
module mac_station
  import framelane_pkg::STATION_RESETS;
  import neighbour_pkg::*;
  import roce_rx_pkg::*;
  import tx_counters_pkg::*;
#(
    parameter int unsigned DataW    = 512,
    parameter int unsigned MacW     = 64,    // 64 to 512
    parameter int unsigned ClockHz  = 0,     // of rx_clk; 0: as config_i says
    parameter int unsigned MaxBytes = 9018,  // of the largest packet; two fit

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned MacKeepW = MacW / 8
) (
    input logic clk,
    input logic rst,

    // The station; config_i and announce_i in clk
    input neighbour_config_t config_i,
    input logic              announce_i,
    input logic              link_up_i,   // of any clock

    // Frames without FCS for the core
    output logic [DataW-1:0] m_axis_core_tdata,
    output logic [KeepW-1:0] m_axis_core_tkeep,
    output logic             m_axis_core_tlast,
    output logic             m_axis_core_tuser,   // with tlast: cut by a reset of the MAC's side
    output logic             m_axis_core_tvalid,
    input  logic             m_axis_core_tready,

    // Pulses, in clk
    output logic bad_o,  // the MAC marked a frame as wrong
    output logic lost_o, // there was no room for one

    // From the MAC, which cannot wait
    input logic rx_clk,
    input logic rx_rst,

    input logic [    MacW-1:0] s_axis_tdata,
    input logic [MacKeepW-1:0] s_axis_tkeep,
    input logic                s_axis_tlast,
    input logic                s_axis_tuser,   // with tlast: wrong FCS, or cut
    input logic                s_axis_tvalid,

    // To the MAC
    input logic tx_clk,
    input logic tx_rst,

    output logic [    MacW-1:0] m_axis_tdata,
    output logic [MacKeepW-1:0] m_axis_tkeep,
    output logic                m_axis_tlast,
    output logic                m_axis_tuser,   // with tlast: its FCS is to be wrong
    output logic                m_axis_tvalid,
    input  logic                m_axis_tready
);

  localparam int unsigned ANSWER_BYTES = 1536;
  localparam int unsigned WIDE_KEEP = (DataW > MacW ? DataW : MacW) / 8;
  localparam int unsigned RX_DEPTH = 1 << $clog2(2 * ((MaxBytes + WIDE_KEEP - 1) / WIDE_KEEP) + 2);
  localparam int unsigned RX_FRAMES = RX_DEPTH < 128 ? RX_DEPTH : 128;
  localparam int unsigned TX_DEPTH = 1 << $clog2(2 * ((ANSWER_BYTES + MacKeepW - 1) / MacKeepW) + 2);

  if (MacW < 64 || MacW > 512 || (MacW & (MacW - 1)) != 0) begin : gen_check
    $error("%m: MacW = %0d must be a power of two, 64 to 512", MacW);
  end

  logic bad, lost;

  // The reset a cycle later: copies, always equal, for each crossing, for the station.
  localparam int unsigned RESETS = 2 + STATION_RESETS;
  (* keep, dont_merge *)logic [RESETS-1:0] rx_rst_q = '1;

  always_ff @(posedge rx_clk) begin
    for (int unsigned c = 0; c < RESETS; c++) if (rx_rst_q[c] != rx_rst) rx_rst_q[c] <= rx_rst;
  end

  mac_rx #(
      .DataW (DataW),
      .MacW  (MacW),
      .Depth (RX_DEPTH),
      .Frames(RX_FRAMES)
  ) u_rx (
      .mac_clk      (rx_clk),
      .mac_rst      (rx_rst_q[0]),
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser,
      .s_axis_tvalid,
      .clk,
      .rst,
      .m_axis_tdata (m_axis_core_tdata),
      .m_axis_tkeep (m_axis_core_tkeep),
      .m_axis_tlast (m_axis_core_tlast),
      .m_axis_tuser (m_axis_core_tuser),
      .m_axis_tvalid(m_axis_core_tvalid),
      .m_axis_tready(m_axis_core_tready),
      .bad_o        (bad),
      .lost_o       (lost)
  );

  cdc_pulse u_bad (
      .s_clk  (rx_clk),
      .pulse_i(bad),
      .m_clk  (clk),
      .pulse_o(bad_o)
  );

  cdc_pulse u_lost (
      .s_clk  (rx_clk),
      .pulse_i(lost),
      .m_clk  (clk),
      .pulse_o(lost_o)
  );

  // The station, in the MAC's clock
  neighbour_config_t config_here, station_config;
  logic link_up, announce;

  cdc_word #(
      .Width($bits(neighbour_config_t))
  ) u_config (
      .s_clk (clk),
      .word_i(config_i),
      .m_clk (rx_clk),
      .word_o(config_here)
  );

  always_comb begin
    station_config = config_here;
    if (ClockHz >= 1000) station_config.clocks_per_ms = 24'(ClockHz / 1000);
  end

  cdc_pulse u_announce (
      .s_clk  (clk),
      .pulse_i(announce_i),
      .m_clk  (rx_clk),
      .pulse_o(announce)
  );

  cdc_bits u_link_up (
      .clk   (rx_clk),
      .bits_i(link_up_i),
      .bits_o(link_up)
  );

  logic [MacW-1:0] answer_tdata;
  logic [MacKeepW-1:0] answer_tkeep;
  logic answer_tlast, answer_tvalid, answer_tready;
  logic [63:0] roce_tdata;
  logic [7:0] roce_tkeep;
  logic roce_tlast, roce_tvalid, resolve_tready, resolved_tvalid, packet_tready, held, underrun, too_long;
  resolved_t resolved_tdata;
  logic [47:0] conflict_mac;
  neighbour_pulses_t pulses;

  tx_station #(
      .DataW(MacW)
  ) u_station (
      .clk                   (rx_clk),
      .rst                   (rx_rst_q[RESETS-1:2]),
      .config_i              (station_config),
      .link_up_i             (link_up),
      .announce_i            (announce),
      .resetting_i           (1'b0),
      .s_axis_resolve_tdata  ('0),
      .s_axis_resolve_tvalid (1'b0),
      .s_axis_resolve_tready (resolve_tready),
      .m_axis_resolved_tdata (resolved_tdata),
      .m_axis_resolved_tvalid(resolved_tvalid),
      .s_axis_rx_tdata       (s_axis_tdata),
      .s_axis_rx_tkeep       (s_axis_tkeep),
      .s_axis_rx_tlast       (s_axis_tlast),
      .s_axis_rx_tuser       (s_axis_tuser),
      .s_axis_rx_tvalid      (s_axis_tvalid),
      .m_axis_roce_tdata     (roce_tdata),
      .m_axis_roce_tkeep     (roce_tkeep),
      .m_axis_roce_tlast     (roce_tlast),
      .m_axis_roce_tvalid    (roce_tvalid),
      .m_axis_roce_tready    (1'b1),
      .s_axis_packet_tdata   ('0),
      .s_axis_packet_tkeep   ('0),
      .s_axis_packet_tlast   (1'b0),
      .s_axis_packet_tvalid  (1'b0),
      .s_axis_packet_tready  (packet_tready),
      .m_axis_tdata          (answer_tdata),
      .m_axis_tkeep          (answer_tkeep),
      .m_axis_tlast          (answer_tlast),
      .m_axis_tvalid         (answer_tvalid),
      .m_axis_tready         (answer_tready),
      .held_o                (held),
      .conflict_mac_o        (conflict_mac),
      .pulses_o              (pulses)
  );

  mac_tx #(
      .DataW(MacW),
      .MacW (MacW),
      .Depth(TX_DEPTH)
  ) u_tx (
      .clk          (rx_clk),
      .rst          (rx_rst_q[1]),
      .s_axis_tdata (answer_tdata),
      .s_axis_tkeep (answer_tkeep),
      .s_axis_tlast (answer_tlast),
      .s_axis_tvalid(answer_tvalid),
      .s_axis_tready(answer_tready),
      .mac_clk      (tx_clk),
      .mac_rst      (tx_rst),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser,
      .m_axis_tvalid,
      .m_axis_tready,
      .threshold_i  ('0),
      .underrun_o   (underrun),
      .too_long_o   (too_long)
  );

  logic unused;
  assign unused = ^{
          roce_tdata, roce_tkeep, roce_tlast, roce_tvalid, resolve_tready, resolved_tdata, resolved_tvalid,
          packet_tready, held, conflict_mac, pulses, underrun, too_long
      };

endmodule
