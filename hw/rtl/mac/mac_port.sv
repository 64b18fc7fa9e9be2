// Between the core and a MAC, whose clocks and width are its own: no packet has a gap on its way to the MAC, however slowly it came, and
// none that comes from it is passed on but whole. Wiring only. A reset of any side is good for both directions that cross it.
module mac_port #(
    parameter int unsigned DataW     = 512,
    parameter int unsigned MacW      = 512,   // 8 to 512
    parameter int unsigned MaxBytes  = 4200,  // of the largest packet; two fit each way
    parameter int unsigned MinBytes  = 60,    // what is sent is filled up to, without its FCS; 0: as it comes
    parameter int unsigned GapCycles = 0,     // between two packets that are sent, at least

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned MacKeepW = MacW / 8
) (
    input logic clk,
    input logic rst,

    // The core's packets, without FCS
    input  logic [DataW-1:0] s_axis_tdata,
    input  logic [KeepW-1:0] s_axis_tkeep,
    input  logic             s_axis_tlast,
    input  logic             s_axis_tvalid,
    output logic             s_axis_tready,

    // Packets for the core
    output logic [DataW-1:0] m_axis_rx_tdata,
    output logic [KeepW-1:0] m_axis_rx_tkeep,
    output logic             m_axis_rx_tlast,
    output logic             m_axis_rx_tuser,   // with tlast: cut by a reset
    output logic             m_axis_rx_tvalid,
    input  logic             m_axis_rx_tready,

    input  logic [15:0] threshold_i,    // beats of the wider side from which on a packet is sent; 0: when it is whole
    output logic        tx_underrun_o,  // pulses, one a packet: its source did not keep up with the threshold
    output logic        tx_too_long_o,  // it was longer than what holds two of MaxBytes
    output logic        rx_bad_o,       // the MAC marked it as wrong
    output logic        rx_lost_o,      // there was no room for it

    // To the MAC
    input logic tx_clk,
    input logic tx_rst,

    output logic [    MacW-1:0] m_axis_tdata,
    output logic [MacKeepW-1:0] m_axis_tkeep,
    output logic                m_axis_tlast,
    output logic                m_axis_tuser,   // with tlast: its FCS is to be wrong
    output logic                m_axis_tvalid,
    input  logic                m_axis_tready,

    // From the MAC, which cannot wait
    input logic rx_clk,
    input logic rx_rst,

    input logic [    MacW-1:0] s_axis_rx_tdata,
    input logic [MacKeepW-1:0] s_axis_rx_tkeep,
    input logic                s_axis_rx_tlast,
    input logic                s_axis_rx_tuser,   // with tlast: wrong FCS, or cut
    input logic                s_axis_rx_tvalid
);

  localparam int unsigned WIDE_KEEP = (DataW > MacW ? DataW : MacW) / 8;
  localparam int unsigned DEPTH = 1 << $clog2(2 * ((MaxBytes + WIDE_KEEP - 1) / WIDE_KEEP) + 2);
  localparam int unsigned FRAMES = DEPTH < 128 ? DEPTH : 128;

  logic [15:0] threshold;
  logic underrun, too_long, bad, lost;

  mac_tx #(
      .DataW    (DataW),
      .MacW     (MacW),
      .Depth    (DEPTH),
      .MinBytes (MinBytes),
      .GapCycles(GapCycles)
  ) u_tx (
      .clk,
      .rst,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tvalid,
      .s_axis_tready,
      .mac_clk    (tx_clk),
      .mac_rst    (tx_rst),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tuser,
      .m_axis_tvalid,
      .m_axis_tready,
      .threshold_i(threshold),
      .underrun_o (underrun),
      .too_long_o (too_long)
  );

  mac_rx #(
      .DataW (DataW),
      .MacW  (MacW),
      .Depth (DEPTH),
      .Frames(FRAMES)
  ) u_rx (
      .mac_clk      (rx_clk),
      .mac_rst      (rx_rst),
      .s_axis_tdata (s_axis_rx_tdata),
      .s_axis_tkeep (s_axis_rx_tkeep),
      .s_axis_tlast (s_axis_rx_tlast),
      .s_axis_tuser (s_axis_rx_tuser),
      .s_axis_tvalid(s_axis_rx_tvalid),
      .clk,
      .rst,
      .m_axis_tdata (m_axis_rx_tdata),
      .m_axis_tkeep (m_axis_rx_tkeep),
      .m_axis_tlast (m_axis_rx_tlast),
      .m_axis_tuser (m_axis_rx_tuser),
      .m_axis_tvalid(m_axis_rx_tvalid),
      .m_axis_tready(m_axis_rx_tready),
      .bad_o        (bad),
      .lost_o       (lost)
  );

  cdc_word #(
      .Width(16)
  ) u_threshold (
      .s_clk (clk),
      .word_i(threshold_i),
      .m_clk (tx_clk),
      .word_o(threshold)
  );

  cdc_pulse u_underrun (
      .s_clk  (tx_clk),
      .pulse_i(underrun),
      .m_clk  (clk),
      .pulse_o(tx_underrun_o)
  );

  cdc_pulse u_too_long (
      .s_clk  (tx_clk),
      .pulse_i(too_long),
      .m_clk  (clk),
      .pulse_o(tx_too_long_o)
  );

  cdc_pulse u_bad (
      .s_clk  (rx_clk),
      .pulse_i(bad),
      .m_clk  (clk),
      .pulse_o(rx_bad_o)
  );

  cdc_pulse u_lost (
      .s_clk  (rx_clk),
      .pulse_i(lost),
      .m_clk  (clk),
      .pulse_o(rx_lost_o)
  );

endmodule
