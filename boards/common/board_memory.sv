// The frames of a board that has no detector, and their pixels: a picture and, with Sdram, images of the user's in an SDRAM, which its
// registers are written by. Wiring only.
module board_memory
  import axi_pkg::*;
  import framelane_pkg::*;
  import sdram_pkg::*;
#(
    parameter int unsigned AddrW      = 32,
    parameter int unsigned ClockHz    = 62_500_000,
    parameter bit          Sdram      = 1'b0,
    parameter int unsigned SdramBankW = 1,

    localparam int unsigned DataW = 64
) (
    input logic clk,
    input logic rst,

    // The master of all registers, and those that are not here
    input  axil_request_t  s_axil_i,
    output axil_response_t s_axil_o,
    output axil_request_t  m_axil_o,
    input  axil_response_t m_axil_i,

    output frame_t m_axis_frame_tdata,
    output logic   m_axis_frame_tvalid,
    input  logic   m_axis_frame_tready,

    // One ID, bursts of type INCR of whole beats
    input  logic [AddrW-1:0] s_axi_araddr,
    input  logic       [7:0] s_axi_arlen,
    input  logic             s_axi_arvalid,
    output logic             s_axi_arready,
    output logic [DataW-1:0] s_axi_rdata,
    output logic             s_axi_rlast,
    output logic             s_axi_rvalid,
    input  logic             s_axi_rready,

    // The pins of an SDRAM, by the cells at them
    output sdram_pins_t               sdram_o,
    input  logic        [DATA_W-1:0] sdram_dq_i
);

  localparam int unsigned IMAGES_W = 4;

  logic [IMAGES_W-1:0] images;
  logic begin_images;
  logic [DataW-1:0] picture_rdata;
  logic picture_arvalid, picture_arready, picture_rlast, picture_rvalid, picture_rready;

  pattern_frames #(
      .ClockHz(ClockHz),
      .ImagesW(IMAGES_W)
  ) u_frames (
      .clk,
      .rst,
      .images_i           (images),
      .begin_i            (begin_images),
      .m_axis_frame_tdata,
      .m_axis_frame_tvalid,
      .m_axis_frame_tready
  );

  pattern_memory #(
      .AddrW(AddrW)
  ) u_memory (
      .clk,
      .rst,
      .s_axi_araddr,
      .s_axi_arlen,
      .s_axi_arvalid(picture_arvalid),
      .s_axi_arready(picture_arready),
      .s_axi_rdata  (picture_rdata),
      .s_axi_rlast  (picture_rlast),
      .s_axi_rvalid (picture_rvalid),
      .s_axi_rready (picture_rready)
  );

  if (Sdram) begin : gen_sdram
    localparam int unsigned WORD_W = SdramBankW + ROW_W + COLUMN_W;

    logic [DataW-1:0] image_rdata;
    logic image_arvalid, image_arready, image_rlast, image_rvalid, image_rready;
    logic [WORD_W-1:0] word_address;
    logic [DATA_W-1:0] word_data;
    logic word_write, word_valid, word_ready, word_read, ready_for_use;
    logic [WORD_W+2-IMAGE_W:0] loaded;
    logic [1:0] delay;

    assign images = IMAGES_W'(loaded);

    sdram_window #(
        .BankW(SdramBankW)
    ) u_window (
        .clk,
        .rst,
        .s_axil_i       (s_axil_i),
        .s_axil_o       (s_axil_o),
        .m_axil_o       (m_axil_o),
        .m_axil_i       (m_axil_i),
        .images_o       (loaded),
        .begin_o        (begin_images),
        .ready_for_use_i(ready_for_use),
        .delay_o        (delay),
        .word_address_o (word_address),
        .word_write_o   (word_write),
        .word_data_o    (word_data),
        .word_valid_o   (word_valid),
        .word_ready_i   (word_ready),
        .word_read_i    (word_read),
        .dq_i           (sdram_dq_i)
    );

    read_choice #(
        .AddrW(AddrW),
        .DataW(DataW)
    ) u_choice (
        .clk,
        .rst,
        .s_axi_araddr,
        .s_axi_arvalid,
        .s_axi_arready,
        .s_axi_rdata,
        .s_axi_rlast,
        .s_axi_rvalid,
        .s_axi_rready,
        .m_axi_arvalid({image_arvalid, picture_arvalid}),
        .m_axi_arready({image_arready, picture_arready}),
        .m_axi_rdata  ({image_rdata, picture_rdata}),
        .m_axi_rlast  ({image_rlast, picture_rlast}),
        .m_axi_rvalid ({image_rvalid, picture_rvalid}),
        .m_axi_rready ({image_rready, picture_rready})
    );

    sdram_port #(
        .AddrW(AddrW),
        .BankW(SdramBankW)
    ) u_sdram (
        .clk,
        .rst,
        .s_axi_araddr,
        .s_axi_arlen,
        .s_axi_arvalid  (image_arvalid),
        .s_axi_arready  (image_arready),
        .s_axi_rdata    (image_rdata),
        .s_axi_rlast    (image_rlast),
        .s_axi_rvalid   (image_rvalid),
        .s_axi_rready   (image_rready),
        .word_address_i (word_address),
        .word_write_i   (word_write),
        .word_data_i    (word_data),
        .word_valid_i   (word_valid),
        .word_ready_o   (word_ready),
        .word_read_o    (word_read),
        .ready_for_use_o(ready_for_use),
        .delay_i        (delay),
        .pins_o         (sdram_o),
        .dq_i           (sdram_dq_i)
    );
  end else begin : gen_no_sdram
    logic unused;
    assign unused = ^sdram_dq_i;
    assign sdram_o = '{command: NOP, default: '0};
    assign images = '0;
    assign begin_images = 1'b0;
    assign m_axil_o = s_axil_i;
    assign s_axil_o = m_axil_i;
    assign {s_axi_rdata, s_axi_rlast, s_axi_rvalid} = {picture_rdata, picture_rlast, picture_rvalid};
    assign picture_arvalid = s_axi_arvalid;
    assign s_axi_arready = picture_arready;
    assign picture_rready = s_axi_rready;
  end

endmodule
