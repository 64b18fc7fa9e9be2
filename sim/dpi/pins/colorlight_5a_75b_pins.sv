// A Colorlight 5A-75B by its pins, with its SDRAM, for a simulation that knows clock edges and no times: its oscillator's pin
// gets the line's 125 MHz, which the PLL's model takes for what it would make of 25 MHz (WITHOUT_TIMES in EHXPLLL.sv).
module colorlight_5a_75b_pins #(
    parameter logic [47:0] Mac  = 48'h02_00_00_00_00_01,
    parameter logic [31:0] Ip   = {8'd192, 8'd168, 8'd1, 8'd50},
    parameter bit          Uart = 1'b0
) (
    input  logic clk,
    input  logic button_ni,
    output logic led_o,

    // With Uart, instead of the two before
    input  logic uart_rx_i,
    output logic uart_tx_o,

    output logic       txc_o,
    output logic [3:0] txd_o,
    output logic       tx_ctl_o,
    input  logic       rxc_i,
    input  logic [3:0] rxd_i,
    input  logic       rx_ctl_i
);

  logic led_n, unused_phy_reset_n, unused_phy_mdc, unused;

  logic sdram_clk, sdram_ras_n, sdram_cas_n, sdram_we_n, sdram_ba;
  logic [10:0] sdram_a;
  wire [31:0] sdram_dq;

  colorlight_5a_75b #(
      .Mac (Mac),
      .Ip  (Ip),
      .Uart(Uart)
  ) u_board (
      .clk25      (clk),
      .button_n   (Uart ? uart_rx_i : button_ni),
      .led_n,
      .phy_reset_n(unused_phy_reset_n),
      .phy_mdc    (unused_phy_mdc),
      .sdram_clk,
      .sdram_ras_n,
      .sdram_cas_n,
      .sdram_we_n,
      .sdram_ba,
      .sdram_a,
      .sdram_dq,
      .eth0_txc   (txc_o),
      .eth0_txd   (txd_o),
      .eth0_tx_ctl(tx_ctl_o),
      .eth0_rxc   (rxc_i),
      .eth0_rxd   (rxd_i),
      .eth0_rx_ctl(rx_ctl_i)
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

  assign led_o = !Uart && !led_n;
  assign uart_tx_o = !Uart || led_n;
  assign unused = ^{unused_phy_reset_n, unused_phy_mdc};

endmodule
