// GMII to the pins of a PHY by RGMII (HP, RGMII 1.3 and 2.0) at 1 Gb/s, by cells of an ECP5: the low half of a byte with the rising
// edge, the high half with the falling one. What is sent has its edges with those of the clock, which is delayed by TxDelay, or by the
// PHY (RGMII-ID); what comes is delayed here by RxDelay, so that it meets the clock, which is late by its way to the cells.
module ecp5_rgmii #(
    parameter int unsigned RxDelay = 80,  // of data: steps of 25 ps, 0 to 127
    parameter int unsigned TxDelay = 0    // of the clock, likewise
) (
    // In tx_clk_i
    input logic tx_clk_i,  // 125 MHz

    input logic [7:0] gmii_txd_i,
    input logic       gmii_tx_en_i,
    input logic       gmii_tx_er_i,

    // In rx_clk_o
    output logic       rx_clk_o,  // the PHY's
    output logic [7:0] gmii_rxd_o,
    output logic       gmii_rx_dv_o,
    output logic       gmii_rx_er_o,

    // Pins
    output logic       rgmii_txc_o,
    output logic [3:0] rgmii_txd_o,
    output logic       rgmii_tx_ctl_o,
    input  logic       rgmii_rxc_i,
    input  logic [3:0] rgmii_rxd_i,
    input  logic       rgmii_rx_ctl_i
);

  if (RxDelay > 127 || TxDelay > 127) begin : gen_check
    $error("%m: RxDelay = %0d and TxDelay = %0d must be 127 or less", RxDelay, TxDelay);
  end

  // Sent: control and data, after one more register beside the pins
  logic [7:0] txd_q;
  logic tx_en_q, tx_odd_q;
  logic [4:0] rise, fall;

  always_ff @(posedge tx_clk_i) begin
    txd_q <= gmii_txd_i;
    tx_en_q <= gmii_tx_en_i;
    tx_odd_q <= gmii_tx_en_i ^ gmii_tx_er_i;
  end

  assign rise = {tx_en_q, txd_q[3:0]};
  assign fall = {tx_odd_q, txd_q[7:4]};

  for (genvar k = 0; k < 5; k++) begin : gen_tx
    logic pin;

    ODDRX1F u_ddr (
        .SCLK(tx_clk_i),
        .RST (1'b0),
        .D0  (rise[k]),
        .D1  (fall[k]),
        .Q   (pin)
    );

    if (k < 4) begin : gen_data
      assign rgmii_txd_o[k] = pin;
    end else begin : gen_control
      assign rgmii_tx_ctl_o = pin;
    end
  end

  logic txc;

  ODDRX1F u_clock (
      .SCLK(tx_clk_i),
      .RST (1'b0),
      .D0  (1'b1),
      .D1  (1'b0),
      .Q   (txc)
  );

  if (TxDelay > 0) begin : gen_tx_delay
    DELAYG #(
        .DEL_MODE ("USER_DEFINED"),
        .DEL_VALUE(TxDelay)
    ) u_delay (
        .A(txc),
        .Z(rgmii_txc_o)
    );
  end else begin : gen_no_tx_delay
    assign rgmii_txc_o = txc;
  end

  // Received
  logic [4:0] pins, first, second;

  assign rx_clk_o = rgmii_rxc_i;
  assign pins = {rgmii_rx_ctl_i, rgmii_rxd_i};

  for (genvar k = 0; k < 5; k++) begin : gen_rx
    logic late;

    DELAYG #(
        .DEL_MODE ("USER_DEFINED"),
        .DEL_VALUE(RxDelay)
    ) u_delay (
        .A(pins[k]),
        .Z(late)
    );

    IDDRX1F u_ddr (
        .SCLK(rx_clk_o),
        .RST (1'b0),
        .D   (late),
        .Q0  (first[k]),
        .Q1  (second[k])
    );
  end

  assign gmii_rxd_o   = {second[3:0], first[3:0]};
  assign gmii_rx_dv_o = first[4];
  assign gmii_rx_er_o = first[4] ^ second[4];

endmodule
