// A Colorlight 5A-75B, its oscillator, and what is at the other end of its first PHY's pins: a PHY that delays both clocks (RGMII-ID),
// and a line. What the board sends is written to the file line.txt: a line for each packet, the time of its first byte in ps, its bytes
// from the preamble on, and a ! where the PHY was told of an error. A packet for the board is given with its preamble and its FCS.
module board_line #(
    parameter int unsigned MaxBytes = 2048  // of a packet for the board
) (
    input logic button_n,
    input logic status_i,  // of the link, said between packets

    input  logic [8*MaxBytes-1:0] packet_i,      // its first byte lowest
    input  logic           [15:0] bytes_i,
    input  logic                  start_i,       // a rising edge sends it
    output logic                  sending_o,
    output logic           [31:0] received_o,    // packets that the board has sent
    output logic                  led_o,
    output logic                  phy_reset_n_o
);

  localparam realtime CLOCK = 40.0;  // of the oscillator, 25 MHz
  localparam realtime LINE = 8.0;  // of the PHY's clock, 125 MHz
  localparam realtime DELAY = 2.0;

  logic clk25, rxc, rxc_pin, txc, txc_late, led_n, mdc;
  logic [3:0] txd, rxd;
  logic tx_ctl, rx_ctl;

  colorlight_5a_75b u_board (
      .clk25,
      .button_n,
      .led_n,
      .phy_reset_n(phy_reset_n_o),
      .phy_mdc    (mdc),
      .eth0_txc   (txc),
      .eth0_txd   (txd),
      .eth0_tx_ctl(tx_ctl),
      .eth0_rxc   (rxc_pin),
      .eth0_rxd   (rxd),
      .eth0_rx_ctl(rx_ctl)
  );

  assign led_o = !led_n;

  initial begin
    clk25 = 1'b0;
    forever #(CLOCK / 2) clk25 = !clk25;
  end

  initial begin
    rxc = 1'b0;
    #1.3;
    forever #(LINE / 2) rxc = !rxc;
  end

  // To the board: a byte each cycle, and the clock later than the data
  always @(rxc) rxc_pin <= #(DELAY) rxc;

  logic [15:0] at;
  logic [7:0] data;
  logic started, valid;

  initial begin
    sending_o = 1'b0;
    started = 1'b0;
    at = '0;
  end

  assign data  = valid ? packet_i[8*at+:8] : {2{status_i ? 4'b1101 : 4'b0000}};
  assign valid = sending_o;

  always @(posedge rxc) begin
    started <= start_i;
    at <= at + 1'b1;
    if (start_i && !started) begin
      sending_o <= 1'b1;
      at <= '0;
    end else if (at == bytes_i - 1'b1) begin
      sending_o <= 1'b0;
    end
  end

  assign rxd = rxc ? data[3:0] : data[7:4];
  assign rx_ctl = valid;

  // From the board
  always @(txc) txc_late <= #(DELAY) txc;

  logic [3:0] line_low, line_high;
  logic line_valid, line_odd, under_way;
  int file;

  initial begin
    under_way = 1'b0;
    received_o = '0;
    file = $fopen("line.txt", "w");
  end

  always @(posedge txc_late) begin
    line_low <= txd;
    line_valid <= tx_ctl;
    if (line_valid) begin
      if (!under_way) $fwrite(file, "%0t ", $realtime);
      if (!line_odd) $fwrite(file, "!");
      $fwrite(file, "%02x", {line_high, line_low});
      under_way <= 1'b1;
    end else if (under_way) begin
      $fwrite(file, "\n");
      $fflush(file);
      under_way <= 1'b0;
      received_o <= received_o + 1'b1;
    end
  end

  always @(negedge txc_late) begin
    line_high <= txd;
    line_odd <= tx_ctl;
  end

  logic unused;
  assign unused = mdc;

endmodule
