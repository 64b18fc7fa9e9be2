// LambdaConcept ECPIX-5: the pins of an ecp5_board with its receive path and RC. Wiring only.
module ecpix_5 #(
    parameter logic        [47:0] Mac   = 48'h02_00_00_00_00_01,
    parameter logic        [31:0] Ip    = {8'd192, 8'd168, 8'd1, 8'd50},
    parameter int unsigned        Build = 0
) (
    input logic clk100,
    input logic button_n,  // resets all but the PHY

    // To the FT2232H, whose second port it is on USB
    input  logic uart_rx,
    output logic uart_tx,

    // Four LEDs of three colours
    output logic [3:0] led_red_n,
    output logic [3:0] led_green_n,
    output logic [3:0] led_blue_n,

    output logic phy_reset_n,
    output logic phy_mdc,      // its registers are left as they start

    output logic       eth_txc,
    output logic [3:0] eth_txd,
    output logic       eth_tx_ctl,
    input  logic       eth_rxc,
    input  logic [3:0] eth_rxd,
    input  logic       eth_rx_ctl
);

  logic led;

  // KSZ9031RNX delays the clock of what it sends, by 1.2 ns, but not that of what it gets
  ecp5_board #(
      .Mac          (Mac),
      .Ip           (Ip),
      .OscillatorMHz(100),
      .RxDelay      (0),
      .TxDelay      (80),
      .Station      (1'b1),
      .Rc           (1'b1),
      .Uart         (1'b1),
      .Build        (Build)
  ) u_board (
      .oscillator_i  (clk100),
      .button_n_i    (button_n),
      .led_o         (led),
      .uart_rx_i     (uart_rx),
      .uart_tx_o     (uart_tx),
      .sdram_clk_o   (),
      .sdram_ras_n_o (),
      .sdram_cas_n_o (),
      .sdram_we_n_o  (),
      .sdram_ba_o    (),
      .sdram_a_o     (),
      .sdram_dq_io   (),                // its memory is DDR3
      .phy_reset_n_o (phy_reset_n),
      .rgmii_txc_o   (eth_txc),
      .rgmii_txd_o   (eth_txd),
      .rgmii_tx_ctl_o(eth_tx_ctl),
      .rgmii_rxc_i   (eth_rxc),
      .rgmii_rxd_i   (eth_rxd),
      .rgmii_rx_ctl_i(eth_rx_ctl)
  );

  assign phy_mdc = 1'b0;
  assign led_red_n = '1;
  assign led_green_n = {3'b111, !led};
  assign led_blue_n = '1;

endmodule
