// Colorlight 5A-75B V7.0: pins, clocks and resets of a gmii_board at its first PHY, the one whose signals are eth0_*. Wiring only.
module colorlight_5a_75b #(
    parameter logic        [47:0] Mac   = 48'h02_00_00_00_00_01,
    parameter logic        [31:0] Ip    = {8'd192, 8'd168, 8'd1, 8'd50},
    parameter int unsigned        Build = 0
) (
    input  logic clk25,
    input  logic button_n,  // resets all but the PHY
    output logic led_n,

    // Of both PHYs
    output logic phy_reset_n,
    output logic phy_mdc,      // their registers are left as they start

    output logic       eth0_txc,
    output logic [3:0] eth0_txd,
    output logic       eth0_tx_ctl,
    input  logic       eth0_rxc,
    input  logic [3:0] eth0_rxd,
    input  logic       eth0_rx_ctl
);

  localparam int unsigned PHY_RESET_W = 21;  // of 62.5 MHz: 34 ms; B50612D asks for 10

  logic line_clk, core_clk, rx_clk, locked, core_rst, line_rst, rx_rst, led;
  logic [PHY_RESET_W-1:0] phy_wait_q = '0;
  logic phy_ready_q = 1'b0;
  logic [7:0] txd, rxd;
  logic tx_en, tx_er, rx_dv, rx_er;

  ecp5_clocks u_clocks (
      .clk25_i   (clk25),
      .line_clk_o(line_clk),
      .core_clk_o(core_clk),
      .locked_o  (locked)
  );

  logic stopped;
  assign stopped = !locked || !button_n;

  cdc_reset u_core_reset (
      .clk  (core_clk),
      .rst_i(stopped),
      .rst_o(core_rst)
  );

  cdc_reset u_line_reset (
      .clk  (line_clk),
      .rst_i(stopped),
      .rst_o(line_rst)
  );

  cdc_reset u_rx_reset (
      .clk  (rx_clk),
      .rst_i(stopped),
      .rst_o(rx_rst)
  );

  always_ff @(posedge core_clk) begin
    if (!phy_ready_q) phy_wait_q <= phy_wait_q + 1'b1;
    phy_ready_q <= phy_ready_q || phy_wait_q == '1;
  end

  assign phy_reset_n = phy_ready_q;
  assign phy_mdc = 1'b0;
  assign led_n = !led;

  ecp5_rgmii u_rgmii (
      .tx_clk_i       (line_clk),
      .gmii_txd_i     (txd),
      .gmii_tx_en_i   (tx_en),
      .gmii_tx_er_i   (tx_er),
      .rx_clk_o       (rx_clk),
      .gmii_rxd_o     (rxd),
      .gmii_rx_dv_o   (rx_dv),
      .gmii_rx_er_o   (rx_er),
      .rgmii_txc_o    (eth0_txc),
      .rgmii_txd_o    (eth0_txd),
      .rgmii_tx_ctl_o (eth0_tx_ctl),
      .rgmii_rxc_i    (eth0_rxc),
      .rgmii_rxd_i    (eth0_rxd),
      .rgmii_rx_ctl_i (eth0_rx_ctl)
  );

  gmii_board #(
      .Mac    (Mac),
      .Ip     (Ip),
      .ClockHz(62_500_000),
      .Build  (Build)
  ) u_board (
      .clk         (core_clk),
      .rst         (core_rst),
      .tx_clk      (line_clk),
      .tx_rst      (line_rst),
      .gmii_txd_o  (txd),
      .gmii_tx_en_o(tx_en),
      .gmii_tx_er_o(tx_er),
      .rx_clk,
      .rx_rst,
      .gmii_rxd_i  (rxd),
      .gmii_rx_dv_i(rx_dv),
      .gmii_rx_er_i(rx_er),
      .led_o       (led)
  );

endmodule
