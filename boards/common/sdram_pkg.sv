// Commands of an SDR SDRAM, and the registers of a board that has one (docs/integrating/board_images.md).
package sdram_pkg;

  // RAS#, CAS#, WE#; CS# is low
  typedef enum logic [2:0] {
    MODE      = 3'b000,
    REFRESH   = 3'b001,
    PRECHARGE = 3'b010,
    ACTIVE    = 3'b011,
    WRITE     = 3'b100,
    READ      = 3'b101,
    NOP       = 3'b111
  } command_e;

  localparam int unsigned ROW_W = 11;
  localparam int unsigned COLUMN_W = 8;
  localparam int unsigned DATA_W = 32;
  localparam int unsigned ALL_BANKS = 10;  // the bit of the address that says so in a PRECHARGE
  localparam logic [ROW_W-1:0] MODE_WORD = 11'h220;  // CAS latency 2, bursts of one word, both ways

  // To the chip, registered
  typedef struct packed {
    command_e          command;
    logic [1:0]        bank;
    logic [ROW_W-1:0]  address;
    logic [DATA_W-1:0] data;
    logic              drive;    // data may be driven in this cycle and the next
  } sdram_pins_t;

  localparam int unsigned IMAGE_W = 20;  // of an address in an image of 1 MiB
  localparam logic [15:0] FIRST = 16'hc000;  // of the registers: framelane_top has none from here on
  localparam logic [15:0] WINDOW = 16'he000;  // what the page shows of the memory: 8 KiB
  localparam int unsigned WINDOW_W = 11;  // of a word's address in the window

  // By bits 3:2 of their address
  typedef enum logic [1:0] {
    MEMORY,
    IMAGES,
    PAGE,
    DELAY
  } register_e;

endpackage
