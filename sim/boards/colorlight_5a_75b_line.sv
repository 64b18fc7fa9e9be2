// A Colorlight 5A-75B with its oscillator, its SDRAM, and a line at its first PHY, which delays both clocks.
module colorlight_5a_75b_line #(
    parameter int unsigned MaxBytes = 2048  // of a packet for the board
) (
    input logic button_n,
    input logic status_i,  // of the link, said between packets

    input  logic [8*MaxBytes-1:0] packet_i,
    input  logic           [15:0] bytes_i,
    input  logic                  start_i,
    output logic                  sending_o,
    output logic           [31:0] received_o,
    output logic                  led_o,
    output logic                  phy_reset_n_o
);

  localparam realtime CLOCK = 40.0;  // of the oscillator, 25 MHz

  logic clk25, rxc, txc, txc_late, mdc;
  logic [3:0] txd, rxd;
  logic tx_ctl, rx_ctl;

  initial begin
    clk25 = 1'b0;
    forever #(CLOCK / 2) clk25 = !clk25;
  end

  logic led_n;
  assign led_o = !led_n;

  logic sdram_clk, sdram_ras_n, sdram_cas_n, sdram_we_n, sdram_ba;
  logic [10:0] sdram_a;
  wire [31:0] sdram_dq;

  colorlight_5a_75b u_board (
      .clk25,
      .button_n,
      .led_n,
      .phy_reset_n(phy_reset_n_o),
      .phy_mdc    (mdc),
      .sdram_clk,
      .sdram_ras_n,
      .sdram_cas_n,
      .sdram_we_n,
      .sdram_ba,
      .sdram_a,
      .sdram_dq,
      .eth0_txc   (txc),
      .eth0_txd   (txd),
      .eth0_tx_ctl(tx_ctl),
      .eth0_rxc   (rxc),
      .eth0_rxd   (rxd),
      .eth0_rx_ctl(rx_ctl)
  );

  sdram_chip #(
      .BankW(1)
  ) u_sdram (
      .clk_i (sdram_clk),
      .ras_ni(sdram_ras_n),
      .cas_ni(sdram_cas_n),
      .we_ni (sdram_we_n),
      .ba_i  (sdram_ba),
      .a_i   (sdram_a),
      .dq_io (sdram_dq)
  );

  rgmii_line #(
      .RxDelay (4.0),  // 2 of the PHY; the board delays its data by 2, since the clock is late on its way to the cells
      .TxDelay (2.0),
      .MaxBytes(MaxBytes)
  ) u_line (
      .status_i,
      .packet_i,
      .bytes_i,
      .start_i,
      .sending_o,
      .received_o,
      .txc_i     (txc),
      .txd_i     (txd),
      .tx_ctl_i  (tx_ctl),
      .rxc_o     (rxc),
      .rxd_o     (rxd),
      .rx_ctl_o  (rx_ctl),
      .txc_late_o(txc_late)
  );

  logic unused;
  assign unused = ^{mdc, txc_late};

endmodule
