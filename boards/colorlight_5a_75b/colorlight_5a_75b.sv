// Colorlight 5A-75B V7.0: the pins of an ecp5_board at its first PHY, the one whose signals are eth0_*. Wiring only.
module colorlight_5a_75b #(
    parameter logic        [47:0] Mac   = 48'h02_00_00_00_00_01,
    parameter logic        [31:0] Ip    = {8'd192, 8'd168, 8'd1, 8'd50},
    parameter int unsigned        Build = 0,
    parameter bit                 Uart  = 1'b0,                          // instead of button and LED, at their pins
    parameter bit                 Sdram = 1'b1                           // images in its SDRAM, beside the picture
) (
    input  logic clk25,
    input  logic button_n,  // resets all but the PHY; with Uart: what the board hears
    output logic led_n,     // with Uart: what it says

    // Of both PHYs
    output logic phy_reset_n,
    output logic phy_mdc,      // their registers are left as they start

    // Two chips of 2 MiB, side by side; CS# and DQM are at ground, CKE at 3.3 V
    output logic        sdram_clk,
    output logic        sdram_ras_n,
    output logic        sdram_cas_n,
    output logic        sdram_we_n,
    output logic        sdram_ba,
    output logic [10:0] sdram_a,
    inout  wire  [31:0] sdram_dq,

    output logic       eth0_txc,
    output logic [3:0] eth0_txd,
    output logic       eth0_tx_ctl,
    input  logic       eth0_rxc,
    input  logic [3:0] eth0_rxd,
    input  logic       eth0_rx_ctl
);

  logic led, uart_tx;

  ecp5_board #(
      .Mac  (Mac),
      .Ip   (Ip),
      .Uart (Uart),
      .Sdram(Sdram),
      .Build(Build)
  ) u_board (
      .oscillator_i  (clk25),
      .button_n_i    (Uart || button_n),
      .led_o         (led),
      .uart_rx_i     (button_n),
      .uart_tx_o     (uart_tx),
      .sdram_clk_o   (sdram_clk),
      .sdram_ras_n_o (sdram_ras_n),
      .sdram_cas_n_o (sdram_cas_n),
      .sdram_we_n_o  (sdram_we_n),
      .sdram_ba_o    (sdram_ba),
      .sdram_a_o     (sdram_a),
      .sdram_dq_io   (sdram_dq),
      .phy_reset_n_o (phy_reset_n),
      .rgmii_txc_o   (eth0_txc),
      .rgmii_txd_o   (eth0_txd),
      .rgmii_tx_ctl_o(eth0_tx_ctl),
      .rgmii_rxc_i   (eth0_rxc),
      .rgmii_rxd_i   (eth0_rxd),
      .rgmii_rx_ctl_i(eth0_rx_ctl)
  );

  assign phy_mdc = 1'b0;
  assign led_n   = Uart ? uart_tx : !led;

endmodule
