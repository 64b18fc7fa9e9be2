// An ECPIX-5 with its oscillator, and a line at its PHY, which delays only the clock of what it sends.
module ecpix_5_line #(
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

  localparam realtime CLOCK = 10.0;  // of the oscillator, 100 MHz

  logic clk100, rxc, txc, txc_late, mdc;
  logic [3:0] txd, rxd;
  logic tx_ctl, rx_ctl, uart_tx;

  initial begin
    clk100 = 1'b0;
    forever #(CLOCK / 2) clk100 = !clk100;
  end

  logic [3:0] led_red_n, led_green_n, led_blue_n;
  assign led_o = !led_green_n[0];

  ecpix_5 u_board (
      .clk100,
      .button_n,
      .uart_rx    (1'b1),
      .uart_tx    (uart_tx),
      .led_red_n,
      .led_green_n,
      .led_blue_n,
      .phy_reset_n(phy_reset_n_o),
      .phy_mdc    (mdc),
      .eth_txc    (txc),
      .eth_txd    (txd),
      .eth_tx_ctl (tx_ctl),
      .eth_rxc    (rxc),
      .eth_rxd    (rxd),
      .eth_rx_ctl (rx_ctl)
  );

  rgmii_line #(
      .RxDelay (1.2),
      .TxDelay (0.0),
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
  assign unused = ^{mdc, txc_late, uart_tx, led_red_n, led_green_n[3:1], led_blue_n};

endmodule
