// What is at the other end of a board's RGMII in simulation: a PHY, and a line. The PHY delays the clock of what it sends by RxDelay and
// that of what it gets by TxDelay. What the board sends is written to the file line.txt: a line for each packet, the time of its first
// byte in ps, its bytes from the preamble on, and a ! where the PHY was told of an error. A packet for the board is given with its
// preamble and its FCS. The argument +line_phase= has the time of the PHY's first clock edge, in ns.
module rgmii_line #(
    parameter realtime     RxDelay  = 2.0,  // ns, with what the clock is late inside the board
    parameter realtime     TxDelay  = 2.0,
    parameter int unsigned MaxBytes = 2048  // of a packet for the board
) (
    input logic status_i,  // of the link, said between packets

    input  logic [8*MaxBytes-1:0] packet_i,   // its first byte lowest
    input  logic           [15:0] bytes_i,
    input  logic                  start_i,    // a rising edge sends it
    output logic                  sending_o,
    output logic           [31:0] received_o, // packets that the board has sent

    // The board's pins
    input  logic       txc_i,
    input  logic [3:0] txd_i,
    input  logic       tx_ctl_i,
    output logic       rxc_o,
    output logic [3:0] rxd_o,
    output logic       rx_ctl_o,

    output logic txc_late_o  // as the PHY has it
);

  localparam realtime LINE = 8.0;  // of the PHY's clock, 125 MHz
  localparam realtime MARGIN = 1.0;  // setup and hold of what the PHY gets (RGMII 2.0, table 2)

  logic rxc, txc_late;
  realtime phase;

  initial begin
    rxc = 1'b0;
    if (!$value$plusargs("line_phase=%f", phase)) phase = 1.3;
    // By steps: a delay that is no constant might be 0, and Verilator would schedule for that.
    repeat ($rtoi(1000.0 * phase + 0.5)) #0.001;
    forever #(LINE / 2) rxc = !rxc;
  end

  // To the board: a byte each cycle, and the clock later than the data
  always @(rxc) rxc_o <= #(RxDelay) rxc;

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

  assign rxd_o = rxc ? data[3:0] : data[7:4];
  assign rx_ctl_o = valid;

  // From the board
  always @(txc_i) txc_late <= #(TxDelay) txc_i;
  assign txc_late_o = txc_late;

  realtime edge_at, change_at;  // the clock's last edge, and when data changed last

  initial begin
    edge_at = -LINE;
    change_at = -LINE;
  end

  always @(txd_i) change_at <= $realtime;

  always @(txc_late) begin
    edge_at <= $realtime;
    if (tx_ctl_i && ($realtime - change_at < MARGIN || (change_at >= edge_at && change_at - edge_at < MARGIN)))
      $error("%m: the PHY's data change at the edges of its clock");
  end

  logic [3:0] line_low, line_high;
  logic line_valid, line_odd, under_way;
  int file;

  initial begin
    under_way = 1'b0;
    received_o = '0;
    file = $fopen("line.txt", "w");
  end

  always @(posedge txc_late) begin
    line_low <= txd_i;
    line_valid <= tx_ctl_i;
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
    line_high <= txd_i;
    line_odd <= tx_ctl_i;
  end

endmodule
