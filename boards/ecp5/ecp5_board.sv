// What boards with an ECP5 and a PHY of 1 Gb/s share: a gmii_board, its clocks and resets, RGMII, an SDRAM's pins, and the PHY's reset.
// Wiring, and the time that the PHY is held in reset.
module ecp5_board
  import sdram_pkg::*;
#(
    parameter logic        [47:0] Mac           = 48'h02_00_00_00_00_01,
    parameter logic        [31:0] Ip            = {8'd192, 8'd168, 8'd1, 8'd50},
    parameter int unsigned        OscillatorMHz = 25,
    parameter int unsigned        RxDelay       = 80,                            // ecp5_rgmii's
    parameter int unsigned        TxDelay       = 0,
    parameter bit                 Station       = 1'b0,                          // gmii_board's
    parameter bit                 Rc            = 1'b0,
    parameter bit                 Uart          = 1'b0,
    parameter bit                 Sdram         = 1'b0,
    parameter int unsigned        SdramBankW    = 1,
    parameter int unsigned        Build         = 0
) (
    input  logic oscillator_i,
    input  logic button_n_i,    // resets all but the PHY
    output logic led_o,

    input  logic uart_rx_i,
    output logic uart_tx_o,

    // With Sdram
    output logic                  sdram_clk_o,
    output logic                  sdram_ras_n_o,
    output logic                  sdram_cas_n_o,
    output logic                  sdram_we_n_o,
    output logic [SdramBankW-1:0] sdram_ba_o,
    output logic [     ROW_W-1:0] sdram_a_o,
    inout  wire  [    DATA_W-1:0] sdram_dq_io,

    output logic phy_reset_n_o,

    output logic       rgmii_txc_o,
    output logic [3:0] rgmii_txd_o,
    output logic       rgmii_tx_ctl_o,
    input  logic       rgmii_rxc_i,
    input  logic [3:0] rgmii_rxd_i,
    input  logic       rgmii_rx_ctl_i
);

  localparam int unsigned PHY_RESET_W = 21;  // of 62.5 MHz: 34 ms; B50612D and KSZ9031RNX ask for 10

  logic line_clk, core_clk, rx_clk, locked, core_rst, line_rst, rx_rst;
  logic [PHY_RESET_W-1:0] phy_wait_q = '0;
  logic phy_ready_q = 1'b0;
  logic [7:0] txd, rxd;
  logic tx_en, tx_er, rx_dv, rx_er;

  ecp5_clocks #(
      .OscillatorMHz(OscillatorMHz)
  ) u_clocks (
      .oscillator_i,
      .line_clk_o(line_clk),
      .core_clk_o(core_clk),
      .locked_o  (locked)
  );

  logic stopped;
  assign stopped = !locked || !button_n_i;

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

  assign phy_reset_n_o = phy_ready_q;

  ecp5_rgmii #(
      .RxDelay(RxDelay),
      .TxDelay(TxDelay)
  ) u_rgmii (
      .tx_clk_i    (line_clk),
      .gmii_txd_i  (txd),
      .gmii_tx_en_i(tx_en),
      .gmii_tx_er_i(tx_er),
      .rx_clk_o    (rx_clk),
      .gmii_rxd_o  (rxd),
      .gmii_rx_dv_o(rx_dv),
      .gmii_rx_er_o(rx_er),
      .rgmii_txc_o,
      .rgmii_txd_o,
      .rgmii_tx_ctl_o,
      .rgmii_rxc_i,
      .rgmii_rxd_i,
      .rgmii_rx_ctl_i
  );

  sdram_pins_t sdram;
  logic [DATA_W-1:0] sdram_dq;

  if (Sdram) begin : gen_sdram
    ecp5_sdram #(
        .BankW(SdramBankW)
    ) u_sdram (
        .clk   (core_clk),
        .pins_i(sdram),
        .dq_o  (sdram_dq),
        .sdram_clk_o,
        .sdram_ras_n_o,
        .sdram_cas_n_o,
        .sdram_we_n_o,
        .sdram_ba_o,
        .sdram_a_o,
        .sdram_dq_io
    );
  end else begin : gen_no_sdram
    logic unused;
    assign unused = ^{sdram, sdram_dq_io};
    assign sdram_dq = '0;
    assign {sdram_clk_o, sdram_ras_n_o, sdram_cas_n_o, sdram_we_n_o, sdram_ba_o, sdram_a_o} = '0;
  end

  gmii_board #(
      .Mac       (Mac),
      .Ip        (Ip),
      .ClockHz   (62_500_000),
      .Station   (Station),
      .Rc        (Rc),
      .Uart      (Uart),
      .Sdram     (Sdram),
      .SdramBankW(SdramBankW),
      .Build     (Build)
  ) u_gmii (
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
      .uart_rx_i,
      .uart_tx_o,
      .sdram_o     (sdram),
      .sdram_dq_i  (sdram_dq),
      .led_o
  );

endmodule
