// An ECPIX-5 by its pins, for a simulation that knows clock edges and no times: its oscillator's pin gets the line's 125 MHz,
// which the PLL's model takes for what it would make of 100 MHz (WITHOUT_TIMES in EHXPLLL.sv).
module ecpix_5_pins #(
    parameter logic [47:0] Mac  = 48'h02_00_00_00_00_01,
    parameter logic [31:0] Ip   = {8'd192, 8'd168, 8'd1, 8'd50},
    parameter bit          Uart = 1'b0
) (
    input  logic clk,
    input  logic button_ni,
    output logic led_o,

    // The board always has them; nobody is there without Uart
    input  logic uart_rx_i,
    output logic uart_tx_o,

    output logic       txc_o,
    output logic [3:0] txd_o,
    output logic       tx_ctl_o,
    input  logic       rxc_i,
    input  logic [3:0] rxd_i,
    input  logic       rx_ctl_i
);

  logic [3:0] unused_red_n, green_n, unused_blue_n;
  logic uart_tx, unused_phy_reset_n, unused_phy_mdc, unused;

  ecpix_5 #(
      .Mac(Mac),
      .Ip (Ip)
  ) u_board (
      .clk100     (clk),
      .button_n   (button_ni),
      .uart_rx    (!Uart || uart_rx_i),
      .uart_tx    (uart_tx),
      .led_red_n  (unused_red_n),
      .led_green_n(green_n),
      .led_blue_n (unused_blue_n),
      .phy_reset_n(unused_phy_reset_n),
      .phy_mdc    (unused_phy_mdc),
      .eth_txc    (txc_o),
      .eth_txd    (txd_o),
      .eth_tx_ctl (tx_ctl_o),
      .eth_rxc    (rxc_i),
      .eth_rxd    (rxd_i),
      .eth_rx_ctl (rx_ctl_i)
  );

  assign led_o = !green_n[0];
  assign uart_tx_o = !Uart || uart_tx;
  assign unused = ^{unused_red_n, green_n[3:1], unused_blue_n, unused_phy_reset_n, unused_phy_mdc};

endmodule
